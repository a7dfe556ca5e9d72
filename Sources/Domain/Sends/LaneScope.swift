internal import Identifiers
package import JSON
internal import RecordFormat

/// A lane's record of one scope: a row of `starts`, under the scope's key. The lane writes it when it begins
/// an expansion for the scope. With it, a late token receives the same state as the others.
package struct LaneScope: JSONRecord, Hashable {
    /// Since version 2, timestamps are separate from versions. Since version 3, a group's row tells which names have rows,
    /// and whether activities have joined it.
    package static let schemaVersion = 3
    /// The maximum number of cancelled sends in one row. The newest are kept. A job lives for at most a day, and the
    /// planner refuses a cancel if this many sends of the group were cancelled within a day (`GroupRow.storeCancel`). So no
    /// job is left of a send that is dropped here.
    package static let cancelledSendsMax = SupersededVersions.cancelledSendsMax

    /// A generation that an END has closed.
    package struct EndedGeneration: Sendable, Hashable {
        package var generation: Int64
        package var endVersion: Int64

        package init(generation: Int64, endVersion: Int64) {
            self.generation = generation
            self.endVersion = endVersion
        }
    }

    /// The maximum number of `endedGenerations`. With as many of them, earlier ones may be missing.
    package static let endedGenerationsMax = 8

    /// An activity of a recipient that an END by its id has ended.
    package struct EndedActivity: Sendable, Hashable {
        package var activity: String
        package var endVersion: Int64

        package init(_ activity: String, endVersion: Int64) {
            self.activity = activity
            self.endVersion = endVersion
        }
    }

    /// The maximum number of activities in `endedActivities`.
    package static let endedActivitiesMax = 10

    /// The position of the newest whole-group send in the lane. There is no walk once the send is done.
    package struct Walk: Sendable, Hashable {
        package var version: Int64
        package var cursor: [UInt8]

        package init(version: Int64, cursor: [UInt8]) {
            self.version = version
            self.cursor = cursor
        }
    }

    /// The state of the lane's subscription to the group.
    package enum SubscriptionState: String, Sendable, CaseIterable {
        /// The lane has no members, and has not subscribed. Sends to the group may have passed the lane.
        case missing
        /// The lane has subscribed, and the answer will come. Until then the lane may lack the group's newest state.
        case requested
        /// All sends to the group reach the lane.
        case answered
    }

    /// The version of the start that opened this generation, or 0 if no start was seen.
    package var generation: Int64 = 0
    /// The version of the newest send whose expansion the lane has begun.
    package var version: Int64 = 0
    /// The newest timestamp that the scope's phones got, in seconds since 1970, and the version of the send that has it.
    /// For a recipient, that can be a send to the whole group.
    package var timestamp: Int64 = 0
    package var timestampVersion: Int64 = 0
    /// The timestamp of the start that opened `generation`. The END of an earlier generation stays below it.
    package var generationTimestamp: Int64 = 0
    /// The version of the newest update or END. Starts do not count, because the state of a start does not apply to
    /// activities that already run.
    package var updateVersion: Int64 = 0
    /// The version of the newest END, or 0 if there was none.
    package var endVersion: Int64 = 0
    /// The generations that have ended and whose activities may still live, in their order.
    package var endedGenerations: [EndedGeneration] = []
    /// The state that a late token gets.
    package var newestState: ScopeState?
    /// For a recipient of a shared group: the state that `newestState` replaced. A cancel of the newest update restores
    /// it, because the planner does not know the states of recipients in a list.
    package var replacedState: ScopeState?
    package var walk: Walk?
    /// For a whole group: the names that have a row of their own in this lane. They are recipients, and activities that
    /// sends have named.
    package var namesWithRows = NameFilter()
    /// For a recipient: activities that an END by their ids has ended, although the lane did not know them when it read
    /// that END. The newest are kept.
    package var endedActivities: [EndedActivity] = []
    /// For a whole group: whether the planner knows that this lane has members.
    package var subscription = SubscriptionState.answered
    /// For a group, and for a recipient in it: whether an activity that was reported without a group has joined it
    /// (`joinedGroup`). If so, the walk of an update or an END also looks for such activities.
    package var hasJoined = false
    /// Cancelled sends, newest last.
    package var cancelledSends: [String] = []
    /// For an activity that was first reported without a group: the group that it joined.
    package var joinedGroup: ScopeKey?
    /// The time at which the row was written, in milliseconds since 1970.
    package var writtenAt: Int64 = 0

    package init() {}

    // In the record, `timestampOf`, `updated` and `endedAt` are versions, not times. The first two are left out if they
    // equal `version`.
    package func write(to writer: inout JSONWriter) {
        writer.field("generation", generation)
        writer.field("version", version)
        writer.field("timestamp", timestamp)
        writer.field("timestampOf", timestampVersion == version ? nil : timestampVersion)
        writer.field("generationTimestamp", generationTimestamp)
        writer.field("updated", updateVersion == version ? nil : updateVersion)
        writer.field("endedAt", endVersion == 0 ? nil : endVersion)
        writer.objects("endedGenerations", unlessEmpty: endedGenerations) { ended, writer in
            writer.field("generation", ended.generation)
            writer.field("endedAt", ended.endVersion)
        }
        writer.field("newest", newestState)
        writer.field("replaced", replacedState)
        if let walk {
            writer.name("walk")
            writer.beginObject()
            writer.field("version", walk.version)
            writer.field("cursor", Hex.text(of: walk.cursor))
            writer.endObject()
        }
        namesWithRows.write(to: &writer)
        writer.objects("endedActivities", unlessEmpty: endedActivities) { ended, writer in
            writer.field("activity", ended.activity)
            writer.field("endedAt", ended.endVersion)
        }
        writer.field("subscription", subscription == .answered ? nil : subscription.rawValue)
        writer.field("hasJoined", hasJoined ? true : nil)
        writer.field("cancelled", cancelledSends.isEmpty ? nil : cancelledSends)
        if let joinedGroup {
            writer.name("joined")
            writer.beginObject()
            writer.field(joinedGroup)
            writer.endObject()
        }
        writer.field("at", writtenAt)
    }

    package init(from record: JSONObject) {
        generation = record["generation"].version()
        version = record["version"].version()
        // In version 1 of the schema, a version was also the timestamp.
        timestamp = record["timestamp"].optional?.seconds() ?? version
        timestampVersion = record["timestampOf"].optional?.version() ?? version
        generationTimestamp = record["generationTimestamp"].optional?.seconds() ?? generation
        updateVersion = record["updated"].optional?.version() ?? version
        endVersion = record["endedAt"].optional?.version() ?? 0
        endedGenerations = record["endedGenerations"].objects(countMax: Self.endedGenerationsMax) { object in
            EndedGeneration(
                generation: object["generation"].version(), endVersion: object["endedAt"].version())
        }
        newestState = record["newest"].optional?.scopeState()
        replacedState = record["replaced"].optional?.scopeState()
        if let walk = record["walk"].optional?.object() {
            self.walk = Walk(version: walk["version"].version(), cursor: walk["cursor"].hex())
        }
        namesWithRows = NameFilter(from: record)
        endedActivities = record["endedActivities"].objects(countMax: Self.endedActivitiesMax) { object in
            EndedActivity(object["activity"].name(), endVersion: object["endedAt"].version())
        }
        subscription = record["subscription"].optional?.choice(of: SubscriptionState.self) ?? .answered
        // Version 2 of the schema had `hasStarts` instead: whether the scope had starts, which activities can join.
        hasJoined = (record["hasJoined"].optional ?? record["hasStarts"].optional)?.bool() ?? false
        cancelledSends = record["cancelled"].optional?.names(countMax: Self.cancelledSendsMax) ?? []
        joinedGroup = record["joined"].optional?.object().scopeKey()
        writtenAt = record["at"].timeMilliseconds()
    }
}
