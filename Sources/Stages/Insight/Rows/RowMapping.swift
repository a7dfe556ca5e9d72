internal import JSON
internal import Kafka
internal import RecordFormat
internal import Store

/// Makes the rows of a `RowFile` from the records of one topic.
protocol RowMapping {
    /// The version of the layout. A file with another version is rebuilt.
    static var schema: Int { get }

    /// Applies a record to the rows.
    ///
    /// - Returns: The outcome of the record, for the metrics.
    static func apply(
        _ record: borrowing Kafka.Record, with reader: JSONReader, into rows: PendingRows
    ) throws(StoreError) -> RecordOutcome
}

extension InsightTopic {
    /// The mapping, or nil for a topic with its own kind of file.
    var mapping: (any RowMapping.Type)? {
        switch self {
        case .receipts, .events: nil
        case .progress: ProgressRowMapping.self
        case .groups: GroupRowMapping.self
        case .installations: InstallationRowMapping.self
        case .timers: TimerRowMapping.self
        case .audit, .auditSends: AuditRowMapping.self
        }
    }
}

extension JSONRecord {
    /// Returns nil if the value cannot be read. The caller then drops and counts the record.
    static func decodeIfValid(_ value: [UInt8], with reader: JSONReader) -> Self? {
        try? decode(value, with: reader)
    }
}
