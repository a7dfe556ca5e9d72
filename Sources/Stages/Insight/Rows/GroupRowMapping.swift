internal import Identifiers
internal import JSON
internal import Kafka
internal import RecordFormat
internal import Sends
internal import Store

/// The rows of `groups`: the state of each scope, and an index of groups by their newest send, which lists the groups of
/// an app.
enum GroupRowMapping: RowMapping {
    static let schema = 1

    static func apply(
        _ record: borrowing Kafka.Record, with reader: JSONReader, into rows: PendingRows
    ) throws(StoreError) -> RecordOutcome {
        guard let key = [UInt8](copying: record.key) else { return .ignored }
        return try apply(key: key, value: [UInt8](copying: record.value), with: reader, into: rows)
    }

    static func apply(
        key: [UInt8], value: [UInt8]?, with reader: JSONReader, into rows: PendingRows
    ) throws(StoreError) -> RecordOutcome {
        // The planner's other rows of the topic, such as those of idempotency keys, have no key of a scope.
        guard let scope = unsafe key.withUnsafeBytes({ unsafe ScopeKey(bytes: $0) }) else { return .ignored }
        var new: GroupRow?
        if let value {
            // A record that cannot be read changes nothing, so the group stays in the index.
            new = GroupRow.decodeIfValid(value, with: reader)
            if new == nil { return .unreadable }
        }
        let rowKey = rowKey(of: scope)
        let old = try rows.value(of: rowKey, in: .rows).flatMap { GroupRow.decodeIfValid($0, with: reader) }
        // The time of the newest send is part of the key in the index.
        if let oldIndexKey = old.flatMap({ indexKey(of: scope, row: $0) }) {
            rows.remove(oldIndexKey, in: .index)
        }
        guard let new, let value else {
            rows.remove(rowKey, in: .rows)
            return .entered
        }
        rows.put(key: rowKey, value: value, at: new.lastSendAt, in: .rows)
        if let newIndexKey = indexKey(of: scope, row: new) {
            rows.put(key: newIndexKey, value: key, at: new.lastSendAt, in: .index)
        }
        return .entered
    }

    /// Returns the key of a scope's row: the parts app, `g`, group and recipient, or app, `a` and activity, each followed
    /// by a zero byte.
    static func rowKey(of scope: ScopeKey) -> [UInt8] {
        switch scope.subject {
        case .group(let group): RowKey.joining(scope.app, "g", group, scope.recipient?.text ?? "")
        case .activity(let activity): RowKey.joining(scope.app, "a", activity)
        }
    }

    /// Returns the prefix of an app's keys in the index. The time of the newest send follows.
    static func indexPrefix(app: String) -> [UInt8] { RowKey.joining(app) }

    /// Returns the group's key in the index, or nil for the scope of an activity, or a group that no send has used.
    private static func indexKey(of scope: ScopeKey, row: GroupRow) -> [UInt8]? {
        guard let group = scope.group, row.lastSendAt > 0 else { return nil }
        return indexPrefix(app: scope.app) + RowKey.newestFirst(time: row.lastSendAt)
            + RowKey.joining(group, scope.recipient?.text ?? "")
    }
}
