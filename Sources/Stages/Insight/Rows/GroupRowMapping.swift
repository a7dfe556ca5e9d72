internal import Identifiers
internal import JSON
internal import Kafka
internal import RecordFormat
internal import Sends
internal import Store

/// The rows of `groups`: the state of each scope, and an index of groups by their newest send.
enum GroupRowMapping: RowMapping {
    static let schema = 1

    static func apply(
        _ record: borrowing Kafka.Record, with reader: JSONReader, into rows: PendingRows
    ) throws(StoreError) -> RecordOutcome {
        // The topic also contains send ids that the planner has seen. They are skipped.
        guard let bytes = [UInt8](copying: record.key),
            let key = unsafe bytes.withUnsafeBytes({ unsafe ScopeKey(bytes: $0) })
        else { return .ignored }
        let rowKey = rowKey(of: key)
        if let old = try rows.value(of: rowKey, in: .rows).flatMap({
            GroupRow.decodeIfValid($0, with: reader)
        }),
            let oldIndexKey = indexKey(of: key, row: old)
        {
            rows.remove(oldIndexKey, in: .index)
        }
        guard let value = [UInt8](copying: record.value) else {
            rows.remove(rowKey, in: .rows)
            return .entered
        }
        guard let new = GroupRow.decodeIfValid(value, with: reader) else { return .unreadable }
        rows.put(key: rowKey, value: value, at: new.lastSendAt, in: .rows)
        if let newIndexKey = indexKey(of: key, row: new) {
            rows.put(key: newIndexKey, value: bytes, at: new.lastSendAt, in: .index)
        }
        return .entered
    }

    /// Returns the key of a scope's row: `app/g/group/recipient` or `app/a/activity`, with a zero byte behind
    /// each part.
    static func rowKey(of key: ScopeKey) -> [UInt8] {
        switch key.subject {
        case .group(let group): RowKey.joining(key.app, "g", group, key.recipient?.text ?? "")
        case .activity(let activity): RowKey.joining(key.app, "a", activity)
        }
    }

    /// Returns the group's key in the list of groups, or nil for the scope of an activity, or a group that no send has
    /// used.
    private static func indexKey(of key: ScopeKey, row: GroupRow) -> [UInt8]? {
        guard let group = key.group, row.lastSendAt > 0 else { return nil }
        return timePrefix(app: key.app) + RowKey.newestFirst(time: row.lastSendAt)
            + RowKey.joining(group, key.recipient?.text ?? "")
    }

    static func timePrefix(app: String) -> [UInt8] { RowKey.joining(app) }
}
