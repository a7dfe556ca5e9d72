internal import JSON
internal import Kafka
internal import LiveActivity
internal import Store

/// What the records of one topic become in a `RowFile`.
protocol RowForm {
    /// Another number is another layout; then the file is rebuilt.
    static var schema: Int { get }

    /// - Returns: what became of the record, for the metrics.
    static func enter(
        _ record: borrowing Kafka.Record, with reader: JSONReader, into rows: PendingRows
    ) throws(StoreError) -> String
}

extension InsightTopic {
    /// Nil for a topic that has a file of its own kind.
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
    /// Nil for what cannot be read; the row is then left out, and counted.
    static func read(_ value: [UInt8], with reader: JSONReader) -> Self? { try? decode(value, with: reader) }
}
