internal import JSON
internal import Kafka
internal import LiveActivity
internal import Store

/// The rows of `timers`: waiting timers by their owner.
enum TimerForm: RowForm {
    static let schema = 1

    static func enter(
        _ record: borrowing Kafka.Record, with reader: JSONReader, into rows: PendingRows
    ) throws(StoreError) -> String {
        guard let key = [UInt8](copying: record.key), let parts = RecordKey.split(key) else {
            return "unreadable"
        }
        let own = RowKey.of(parts)
        guard let value = [UInt8](copying: record.value) else {
            rows.remove(own, in: .rows)
            return "entered"
        }
        guard let row = TimerRow.read(value, with: reader) else { return "unreadable" }
        rows.put(own, value, at: row.dueAt, in: .rows)
        return "entered"
    }

    static func prefix(app: String, owner: ScheduleOwner) -> [UInt8] { RowKey.of(app, owner.text) }
}
