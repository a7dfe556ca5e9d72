internal import Identifiers
package import JSON
internal import RecordFormat

/// A count of the groups of an app that no send has used yet, in one partition: a row of `groups`. A phone can report an
/// activity of any group, and the lane of the phone then subscribes to the group (`Subscription`), which gets a
/// `GroupRow`. Since phones choose the names, the planner limits the number of such groups.
package struct SubscribedGroups: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// Ends are rounded up to full hours, so that the subscriptions of an hour change a row only once.
    package static let stepMilliseconds: Int64 = 3_600_000
    /// The limit of different ends in a record. Groups are kept for 48 hours, so there are at most 49.
    private static let endsMax = 1000

    /// The number of groups, by the time until which their members may live, in milliseconds since 1970. After that time
    /// a group is forgotten.
    private var countsByEnd: [Int64: Int] = [:]
    /// The time, in milliseconds since 1970, until which a group without a row may have members in any lane, because a
    /// subscription beyond the limit was not stored. 0 if all subscriptions were stored.
    private var unstoredUntil: Int64 = 0

    package init() {}

    /// Returns the time until which the members that a subscription reports may live, rounded up to a full hour.
    ///
    /// - Parameter stamp: the time of the subscription's record, in milliseconds since 1970.
    package static func membersUntil(subscribedAt stamp: Int64) -> Int64 {
        ((stamp + GroupRow.membershipMilliseconds) / stepMilliseconds + 1) * stepMilliseconds
    }

    /// The number of groups. Call `removeEnded` first to count only the groups that are not forgotten.
    package var count: Int { countsByEnd.values.reduce(0, +) }

    /// The time after which the row can be forgotten, in milliseconds since 1970.
    package var end: Int64 { max(countsByEnd.keys.max() ?? 0, unstoredUntil) }

    package func hasUnstoredSubscriptions(at stamp: Int64) -> Bool { stamp < unstoredUntil }

    package mutating func noteUnstoredSubscription(at stamp: Int64) {
        unstoredUntil = max(unstoredUntil, Self.membersUntil(subscribedAt: stamp))
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
        writer.field("anyLaneUntil", unstoredUntil == 0 ? nil : unstoredUntil)
    }

    package init(from record: JSONObject) {
        // The sum of all counts does not overflow.
        let countMax = Int.max / (2 * Self.endsMax)
        let counts = record["groups"].objects(countMax: Self.endsMax) { object in
            (object["membersUntil"].timeMilliseconds(), object["count"].int(in: 0...countMax))
        }
        countsByEnd = Dictionary(counts, uniquingKeysWith: +)
        unstoredUntil = record["anyLaneUntil"].optional?.timeMilliseconds() ?? 0
    }
}
