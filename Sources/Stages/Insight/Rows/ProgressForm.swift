internal import JSON
internal import Kafka
internal import LiveActivity
internal import Store

/// The rows of `progress`: every record, and indexes of sends by time and by group.
enum ProgressForm: RowForm {
    static let schema = 1

    static func enter(
        _ record: borrowing Kafka.Record, with reader: JSONReader, into rows: PendingRows
    ) throws(StoreError) -> String {
        guard let value = [UInt8](copying: record.value),
            let progress = Progress.read(value, with: reader)
        else { return "unreadable" }
        let app = progress.key.app
        var key = prefix(app: app, send: progress.send)
        BigEndian.append(record.offset, to: &key)
        rows.put(key, value, at: progress.at, in: .rows)
        // A conflict belongs to a second request body with the same id. Other records list the send itself.
        if case .verdict(let part) = progress.part, part.verdict != .conflict {
            let send = Array(progress.send.utf8)
            let time = RowKey.newestFirst(progress.acceptedAt)
            rows.put(byTime(app: app) + time + send, send, at: progress.at, in: .index)
            if let group = progress.key.group {
                rows.put(byGroup(app: app, group) + time + send, send, at: progress.at, in: .index)
            }
        }
        return "entered"
    }

    /// Returns the key prefix of a send's records.
    static func prefix(app: String, send: String) -> [UInt8] { RowKey.of(app, send) }

    static func byTime(app: String) -> [UInt8] { RowKey.of(app, "t") }

    static func byGroup(app: String, _ group: String) -> [UInt8] { RowKey.of(app, "g", group) }
}
