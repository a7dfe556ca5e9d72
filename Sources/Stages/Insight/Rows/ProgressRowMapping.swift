internal import JSON
internal import Kafka
internal import RecordFormat
internal import Sends
internal import Store

/// The rows of `progress`: each record, and indexes of sends by time and by group.
enum ProgressRowMapping: RowMapping {
    static let schema = 2

    static func apply(
        _ record: borrowing Kafka.Record, with reader: JSONReader, into rows: PendingRows
    ) throws(StoreError) -> RecordOutcome {
        guard let value = [UInt8](copying: record.value),
            let progress = ProgressRecord.decodeIfValid(value, with: reader)
        else { return .unreadable }
        let app = progress.key.app
        var key = recordsPrefix(app: app, send: progress.send)
        BigEndian.append(record.offset, to: &key)
        rows.put(key: key, value: value, at: progress.writtenAt, in: .rows)
        // The planner's record lists the send. Its verdict `conflict` is about a second request with the same
        // id and another body, which is not the send. A dry run sends nothing, so no list has it.
        if case .planner(let part) = progress.part, part.verdict != .conflict, !progress.isDryRun {
            let send = Array(progress.send.utf8)
            let time = RowKey.newestFirst(time: progress.acceptedAt)
            rows.put(key: timePrefix(app: app) + time + send, value: send, at: progress.writtenAt, in: .index)
            if let group = progress.key.group {
                rows.put(
                    key: groupPrefix(app: app, group: group) + time + send, value: send,
                    at: progress.writtenAt, in: .index)
            }
        }
        return .entered
    }

    /// Returns the key prefix of a send's records.
    static func recordsPrefix(app: String, send: String) -> [UInt8] { RowKey.joining(app, send) }

    static func timePrefix(app: String) -> [UInt8] { RowKey.joining(app, "t") }

    static func groupPrefix(app: String, group: String) -> [UInt8] { RowKey.joining(app, "g", group) }
}
