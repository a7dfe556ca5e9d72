internal import JSON
internal import Kafka
internal import LiveActivity
internal import Store

/// The rows of `groups`: the scopes, and an index of groups by their newest send.
enum GroupForm: RowForm {
    static let schema = 1

    static func enter(
        _ record: borrowing Kafka.Record, with reader: JSONReader, into rows: PendingRows
    ) throws(StoreError) -> String {
        // The topic also contains send ids that the planner has seen. They are skipped.
        guard let bytes = [UInt8](copying: record.key),
            let key = unsafe bytes.withUnsafeBytes({ unsafe GroupKey(bytes: $0) })
        else { return "passed over" }
        let own = row(key)
        if let old = try rows.value(own, in: .rows).flatMap({ GroupRow.read($0, with: reader) }),
            let place = place(key, old)
        {
            rows.remove(place, in: .index)
        }
        guard let value = [UInt8](copying: record.value) else {
            rows.remove(own, in: .rows)
            return "entered"
        }
        guard let new = GroupRow.read(value, with: reader) else { return "unreadable" }
        rows.put(own, value, at: new.lastAt, in: .rows)
        if let place = place(key, new) { rows.put(place, bytes, at: new.lastAt, in: .index) }
        return "entered"
    }

    static func row(_ key: GroupKey) -> [UInt8] {
        switch key.subject {
        case .group(let group): RowKey.of(key.app, "g", group, key.recipient?.text ?? "")
        case .activity(let activity): RowKey.of(key.app, "a", activity)
        }
    }

    /// Returns the group's key in the list of groups, or nil for the scope of an activity.
    private static func place(_ key: GroupKey, _ row: GroupRow) -> [UInt8]? {
        guard let group = key.group else { return nil }
        return byTime(app: key.app) + RowKey.newestFirst(row.lastAt)
            + RowKey.of(group, key.recipient?.text ?? "")
    }

    static func byTime(app: String) -> [UInt8] { RowKey.of(app) }
}
