internal import JSON
internal import Kafka
internal import LiveActivity
internal import Store

/// The way in which records of one topic become rows of a `RowFile`.
protocol RowForm {
    /// The version of the layout. A file with another version is rebuilt.
    static var schema: Int { get }

    /// - Returns: The outcome of the record, for the metrics.
    static func enter(
        _ record: borrowing Kafka.Record, with reader: JSONReader, into rows: PendingRows
    ) throws(StoreError) -> String
}

extension InsightTopic {
    /// The form, or nil for a topic with its own kind of file.
    var form: (any RowForm.Type)? {
        switch self {
        case .receipts, .events: nil
        case .progress: ProgressForm.self
        case .groups: GroupForm.self
        case .installations: InstallationForm.self
        case .timers: TimerForm.self
        case .audit: AuditForm.self
        }
    }
}

extension LiveActivity.Record {
    /// Returns nil if the value cannot be read. The caller then drops and counts the record.
    static func read(_ value: [UInt8], with reader: JSONReader) -> Self? { try? decode(value, with: reader) }
}
