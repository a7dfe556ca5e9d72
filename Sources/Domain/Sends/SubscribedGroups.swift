internal import Identifiers
package import JSON
internal import RecordFormat

/// The number of an app's groups that only subscriptions have made, in one partition: a row of `groups`. Phones name
/// the groups, so their number has a limit.
package struct SubscribedGroups: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// The step in which the end of members' lives is written, so that the subscriptions of an hour change a row once.
    package static let stepMilliseconds: Int64 = 3_600_000
    /// More ends than there are hours in which members live.
    private static let endsMax = 1000

    /// The number of groups, by the end of their members' lives in milliseconds since 1970. Behind it a group is
    /// forgotten.
    private var countsByEnd: [Int64: Int] = [:]
    /// The time, in milliseconds since 1970, until which groups without a row may have members in any lane. 0 if all
    /// subscriptions were stored.
    private var anyLaneUntil: Int64 = 0

    package init() {}

    /// Returns the end of the lives of members that a subscription reports.
    ///
    /// - Parameter stamp: the time of the subscription's record, in milliseconds since 1970.
    package static func membersUntil(subscribedAt stamp: Int64) -> Int64 {
        ((stamp + GroupRow.membershipMilliseconds) / stepMilliseconds + 1) * stepMilliseconds
    }

    package var count: Int { countsByEnd.values.reduce(0, +) }
    /// The time after which the row can be forgotten, in milliseconds since 1970.
    package var end: Int64 { max(countsByEnd.keys.max() ?? 0, anyLaneUntil) }

    package func hasUnstoredSubscriptions(at stamp: Int64) -> Bool { stamp < anyLaneUntil }

    package mutating func noteUnstoredSubscription(at stamp: Int64) {
        anyLaneUntil = max(anyLaneUntil, Self.membersUntil(subscribedAt: stamp))
    }

    package mutating func add(groupWithMembersUntil end: Int64) { countsByEnd[end, default: 0] += 1 }

    package mutating func remove(groupWithMembersUntil end: Int64) {
        guard let count = countsByEnd[end] else { return }
        countsByEnd[end] = count > 1 ? count - 1 : nil
    }

    package mutating func removeEnded(at stamp: Int64) {
        countsByEnd = countsByEnd.filter { $0.key > stamp }
    }

    /// Returns `app/`. It cannot equal a group's key, because no group has an empty name.
    package static func key(app: String) -> [UInt8] { RecordKey.join(app, "") }

    /// Whether a key of `groups` is the key of such a row.
    package static func isKey(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let parts = unsafe RecordKey.split(bytes) else { return false }
        return parts.count == 2 && !parts[0].isEmpty && parts[1].isEmpty
    }

    package func write(to writer: inout JSONWriter) {
        writer.objects("groups", unlessEmpty: countsByEnd.sorted { $0.key < $1.key }) { counted, writer in
            writer.field("membersUntil", counted.key)
            writer.field("count", counted.value)
        }
        writer.field("anyLaneUntil", anyLaneUntil == 0 ? nil : anyLaneUntil)
    }

    package init(from record: JSONObject) {
        let counts = record["groups"].objects(countMax: Self.endsMax) { object in
            (
                end: object["membersUntil"].timeMilliseconds(),
                count: object["count"].int(in: 0...Int.max / 2000)
            )
        }
        countsByEnd = Dictionary(counts.map { ($0.end, $0.count) }) { first, _ in first }
        anyLaneUntil = record["anyLaneUntil"].optional?.timeMilliseconds() ?? 0
    }
}
