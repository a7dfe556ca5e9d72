internal import Identifiers
package import JSON
internal import RecordFormat

/// A row of `groups` that counts, for one app and one partition, the groups that only phones have named: no
/// send has used them yet. Phones choose the names, so the planner limits the number of such groups.
///
/// A phone can report an activity of any group. The phone's lane then subscribes to the group (`Subscription`), and the
/// planner stores a `GroupRow`. The group is counted by the time until which its members may live (`membersUntil`), and
/// forgotten after it.
package struct SubscribedGroups: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// `membersUntil` is rounded up to a full hour, so that all subscriptions of an hour have the same one.
    package static let stepMilliseconds: Int64 = 3_600_000
    /// The limit of different times in a record. `GroupRow.membershipMilliseconds` needs 49. The limit leaves room for a
    /// version of this program that keeps groups longer.
    private static let timesMax = 1000

    /// The number of groups by `membersUntil`, in milliseconds since 1970.
    private var counts: [Int64: Int] = [:]
    /// The time, in milliseconds since 1970, until which a group without a row may have members in any lane, because a
    /// subscription beyond the limit was not stored. Until then the planner sends the app's groups without a row to all
    /// lanes. 0 if all subscriptions were stored.
    private var anyLaneUntil: Int64 = 0

    package init() {}

    /// Returns the time until which the members that a subscription reports may live, rounded up to a full hour.
    ///
    /// - Parameter stamp: the time of the subscription's record, in milliseconds since 1970.
    package static func membersUntil(subscribedAt stamp: Int64) -> Int64 {
        ((stamp + GroupRow.membershipMilliseconds) / stepMilliseconds + 1) * stepMilliseconds
    }

    /// The time after which the row can be forgotten, in milliseconds since 1970.
    package var end: Int64 { max(counts.keys.max() ?? 0, anyLaneUntil) }

    /// Whether a group without a row may have members in any lane.
    package func mayHaveMembersInAnyLane(at stamp: Int64) -> Bool { stamp < anyLaneUntil }

    package mutating func noteUnstoredSubscription(at stamp: Int64) {
        anyLaneUntil = max(anyLaneUntil, Self.membersUntil(subscribedAt: stamp))
    }

    package mutating func add(groupWithMembersUntil time: Int64) { counts[time, default: 0] += 1 }

    package mutating func remove(groupWithMembersUntil time: Int64) {
        guard let count = counts[time] else { return }
        counts[time] = count > 1 ? count - 1 : nil
    }

    /// Removes the groups that are forgotten, and returns the number of the others.
    package mutating func countAfterRemovingForgotten(at stamp: Int64) -> Int {
        counts = counts.filter { $0.key > stamp }
        return counts.values.reduce(0, +)
    }

    /// Returns `app/`. It cannot equal a group's key, because no group has an empty name.
    package static func key(app: String) -> [UInt8] { RecordKey.join(app, "") }

    /// Whether a key of `groups` is the key of a row of `SubscribedGroups`.
    package static func isKey(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let parts = unsafe RecordKey.split(bytes) else { return false }
        return parts.count == 2 && !parts[0].isEmpty && parts[1].isEmpty
    }

    package func write(to writer: inout JSONWriter) {
        writer.objects("groups", unlessEmpty: counts.sorted { $0.key < $1.key }) { counted, writer in
            writer.field("membersUntil", counted.key)
            writer.field("count", counted.value)
        }
        writer.field("anyLaneUntil", anyLaneUntil == 0 ? nil : anyLaneUntil)
    }

    package init(from record: JSONObject) {
        // The sum of all counts does not overflow.
        let countMax = Int.max / (2 * Self.timesMax)
        let pairs = record["groups"].objects(countMax: Self.timesMax) { object in
            (object["membersUntil"].timeMilliseconds(), object["count"].int(in: 0...countMax))
        }
        counts = Dictionary(pairs, uniquingKeysWith: +)
        anyLaneUntil = record["anyLaneUntil"].optional?.timeMilliseconds() ?? 0
    }
}
