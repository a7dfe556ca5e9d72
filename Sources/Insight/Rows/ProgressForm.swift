internal import JSON
internal import Kafka
internal import LiveActivity
internal import Store

/// Of `progress`, every record, and sends by their time and by their group.
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
        // Of another body that came under the same id: the send itself is told of by other records.
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

    /// Of a send's records.
    static func prefix(app: String, send: String) -> [UInt8] { RowKey.of(app, send) }

    static func byTime(app: String) -> [UInt8] { RowKey.of(app, "t") }

    static func byGroup(app: String, _ group: String) -> [UInt8] { RowKey.of(app, "g", group) }
}
