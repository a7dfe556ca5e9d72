internal import Identifiers
internal import JSON
internal import Kafka
internal import RecordFormat
internal import Schedules
internal import Store

/// The rows of `timers`: the waiting timers, by their owner.
enum TimerRowMapping: RowMapping {
    static let schema = 1

    static func apply(
        _ record: borrowing Kafka.Record, with reader: JSONReader, into rows: PendingRows
    ) throws(StoreError) -> RecordOutcome {
        guard let key = [UInt8](copying: record.key), let parts = RecordKey.split(key) else {
            return .unreadable
        }
        // The row remembers an answer for a repeated request. It is no timer.
        if unsafe key.withUnsafeBytes({ unsafe ScheduleIdempotencyRow.isKey($0) }) { return .ignored }
        let rowKey = RowKey.joining(parts)
        guard let value = [UInt8](copying: record.value) else {
            rows.remove(rowKey, in: .rows)
            return .entered
        }
        guard let row = TimerRow.decodeIfValid(value, with: reader) else { return .unreadable }
        rows.put(key: rowKey, value: value, at: row.dueAt, in: .rows)
        return .entered
    }

    static func ownerPrefix(app: String, owner: ScheduleOwner) -> [UInt8] { RowKey.joining(app, owner.text) }
}
