internal import Identifiers
package import JSON
internal import RecordFormat

/// The planner's record of one scope: a row of `groups`, which is the planner's source of truth.
///
/// A group's own row counts for the whole group and numbers the sends of its recipients. A recipient has a
/// row only if sends have addressed that recipient alone. A version is a `SendSequence`.
package struct GroupRow: JSONRecord, Hashable {
    /// Since version 2, timestamps are separate from versions.
    package static let schemaVersion = 2

    /// A cancelled send of the group.
    package struct CancelledSend: Sendable, Hashable {
        package var send: String
        /// The timestamp of the cancel's record, in milliseconds since 1970.
        package var at: Int64

        package init(send: String, at: Int64) {
            self.send = send
            self.at = at
        }
    }

    /// The version of the start that opened this generation, or 0 if no start was seen.
    package var generation: Int64 = 0
    /// The time at which that start was accepted, in milliseconds since 1970. `generation` cannot replace it,
    /// because it has the time at which the start was planned.
    package var openedAt: Int64?
    /// The version of the newest END, or 0 if there was none.
    package var endVersion: Int64 = 0
    /// The timestamp of that END's record, in milliseconds since 1970. Timed sends from before it are
    /// outdated.
    package var endStamp: Int64 = 0
    /// The scope's newest version.
    package var version: Int64 = 0
    /// The newest timestamp of the scope, in seconds since 1970. Phones ignore a push whose timestamp is not newer.
    package var timestamp: Int64 = 0
    /// For a whole group: the version of the newest send whose recipients only lanes know.
    package var laneOnlyVersion: Int64 = 0
    /// For a whole group: the highest version of any of its scopes.
    package var highestVersion: Int64 = 0
    /// For a whole group: the highest timestamp of any of its scopes. Sends to named activities do not count, because
    /// lanes give them their timestamps.
    package var highestTimestamp: Int64 = 0
    /// For a whole group: the version of its newest update, also if other sends followed, or 0 if there was none.
    package var updateVersion: Int64 = 0
    /// For a whole group: the lanes with members.
    package var memberLanes = MemberLanes.every
    /// For a whole group: the time, in milliseconds since 1970, until which the members that subscriptions reported
    /// may live. 0 if there was no subscription.
    package var membersUntil: Int64 = 0
    /// For a recipient: its newest state, only while that state was for this recipient alone.
    package var newestState: ScopeState?
    /// The states that the newest updates replaced, newest first. Cancelling those updates restores them.
    package var replacedStates: [ScopeState] = []
    /// The activity type of the generation's start, and the size of the largest attributes of any of its
    /// starts. Updates are checked against them.
    package var attributesType: String?
    package var attributesBytes = 0
    /// The number of updates in this generation. It decides where each update's walk begins.
    package var updateCount = 0
    /// The time at which the generation ends automatically, in seconds since 1970.
    package var endDate: Int64?
    /// A send that waits until it can get a version that is not ahead of the clock.
    package var heldSend: Send?
    /// For a whole group: the number of sends to the whole group, including held ones.
    package var groupSendCount = 0
    /// For a recipient: the whole group's `groupSendCount` when the held send began to wait. If that count has
    /// changed, a newer send to the whole group exists.
    package var groupSendCountWhenHeld = 0
    /// For a whole group: recently cancelled sends, oldest first. Every `SupersededVersions` of the group names them.
    package var cancelledSends: [CancelledSend] = []
    /// The timestamp of its last send's record, in milliseconds since 1970.
    package var lastSendAt: Int64 = 0

    package init() {}

    /// The maximum number of states in `replacedStates`, and so of consecutive updates that can be cancelled. It is
    /// small, because a group's row is written with every update.
    package static let replacedStatesMax = 3

    /// The time for which a row is kept after its scope's last send.
    package static let retentionMilliseconds: Int64 = 3 * 86_400_000

    /// The time for which a row is kept after a subscription. An activity lives at most twelve hours.
    package static let membershipMilliseconds: Int64 = 2 * 86_400_000

    /// The time from which the row can be forgotten, in milliseconds since 1970.
    package var end: Int64 { max(lastSendAt + Self.retentionMilliseconds, membersUntil) }

    package func isKept(at stamp: Int64) -> Bool { stamp < end }

    package func write(to writer: inout JSONWriter) {
        writer.field("generation", generation)
        writer.field("openedAt", openedAt)
        writer.field("endedAt", endVersion == 0 ? nil : endVersion)
        writer.field("endedTime", endStamp == 0 ? nil : endStamp)
        writer.field("version", version)
        writer.field("timestamp", timestamp)
        writer.field("floor", laneOnlyVersion == 0 ? nil : laneOnlyVersion)
        writer.field("highest", highestVersion == 0 ? nil : highestVersion)
        writer.field("highestTimestamp", highestTimestamp == 0 ? nil : highestTimestamp)
        writer.field("updatedAt", updateVersion == 0 ? nil : updateVersion)
        writer.field(memberLanes)
        writer.field("membersUntil", membersUntil == 0 ? nil : membersUntil)
        writer.field("newest", newestState)
        writer.field("previous", replacedStates.first)
        writer.objects("earlier", unlessEmpty: Array(replacedStates.dropFirst())) { $1.fields($0) }
        writer.field("attributesType", attributesType)
        writer.field("attributesBytes", attributesBytes == 0 ? nil : attributesBytes)
        writer.field("updates", updateCount == 0 ? nil : updateCount)
        writer.field("endDate", endDate)
        if let heldSend { writer.field("held", send: heldSend) }
        writer.field("words", groupSendCount == 0 ? nil : groupSendCount)
        writer.field("heldAfter", groupSendCountWhenHeld == 0 ? nil : groupSendCountWhenHeld)
        writer.objects("cancelled", unlessEmpty: cancelledSends) { cancelledSend, writer in
            writer.field("send", cancelledSend.send)
            writer.field("at", cancelledSend.at)
        }
        writer.field("lastAt", lastSendAt)
    }

    package init(from record: JSONObject) {
        generation = record["generation"].version()
        openedAt = record["openedAt"].optional?.timeMilliseconds()
        endVersion = record["endedAt"].optional?.version() ?? 0
        endStamp = record["endedTime"].optional?.timeMilliseconds() ?? 0
        version = record["version"].version()
        laneOnlyVersion = record["floor"].optional?.version() ?? 0
        highestVersion = record["highest"].optional?.version() ?? 0
        // In a row of version 1, the versions are also the timestamps that phones have.
        let timestamp = record["timestamp"].optional?.seconds()
        self.timestamp = timestamp ?? max(version, laneOnlyVersion)
        highestTimestamp =
            record["highestTimestamp"].optional?.seconds()
            ?? (timestamp == nil ? max(version, highestVersion) : 0)
        updateVersion = record["updatedAt"].optional?.version() ?? 0
        memberLanes = record.memberLanes()
        membersUntil = record["membersUntil"].optional?.timeMilliseconds() ?? 0
        newestState = record["newest"].optional?.scopeState()
        replacedStates = record["previous"].optional.map { [$0.scopeState()] } ?? []
        replacedStates += record["earlier"].objects(countMax: Self.replacedStatesMax) { $0.scopeState() }
        attributesType = record["attributesType"].optional?.name()
        attributesBytes = record["attributesBytes"].optional?.int(in: 0...1_000_000) ?? 0
        updateCount = record["updates"].optional?.int(in: 0...Int.max) ?? 0
        endDate = record["endDate"].optional?.seconds()
        heldSend = record["held"].optional.map { Send(from: $0.object()) }
        groupSendCount = record["words"].optional?.int(in: 0...Int.max) ?? 0
        groupSendCountWhenHeld = record["heldAfter"].optional?.int(in: 0...Int.max) ?? 0
        cancelledSends = record["cancelled"].cancelledSends()
        lastSendAt = record["lastAt"].timeMilliseconds()
    }
}

extension JSONValue {
    package func cancelledSends() -> [GroupRow.CancelledSend] {
        objects(countMax: SupersededVersions.cancelledSendsMax) { object in
            GroupRow.CancelledSend(send: object["send"].name(), at: object["at"].timeMilliseconds())
        }
    }
}
