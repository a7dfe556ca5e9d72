internal import CatalogRecords
internal import JSON
internal import Kafka
internal import RecordFormat
internal import Store

/// The rows of `audit` and of `audit.sends`: each entry, by its app and its time, newest first.
enum AuditRowMapping: RowMapping {
    static let schema = 1

    static func apply(
        _ record: borrowing Kafka.Record, with reader: JSONReader, into rows: PendingRows
    ) throws(StoreError) -> RecordOutcome {
        guard let value = [UInt8](copying: record.value),
            let entry = AuditEntry.decodeIfValid(value, with: reader)
        else { return .unreadable }
        var key = timePrefix(app: entry.app) + RowKey.newestFirst(time: entry.at)
        // The newest entry sorts first, also within a millisecond.
        BigEndian.append(Int64.max - record.offset, to: &key)
        rows.put(key: key, value: value, at: entry.at, in: .rows)
        return .entered
    }

    static func timePrefix(app: String) -> [UInt8] { RowKey.joining(app) }
}
