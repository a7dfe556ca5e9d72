internal import Identifiers
package import JSON
internal import RecordFormat

/// The planner's answer to a `Subscription` of a group without a state to send: a record of `expansions.urgent`. A group with
/// a state is answered by an `Expansion`.
package struct SubscriptionAnswer: JSONRecord, Hashable {
    package static let schemaVersion = Expansion.schemaVersion

    package var key: ScopeKey
    /// The version of the start that opened the group's generation, or 0 if no start was seen.
    package var generation: Int64
    /// The version of the group's newest END, or 0 if there was none.
    package var endVersion: Int64

    package init(key: ScopeKey, generation: Int64, endVersion: Int64) {
        self.key = key
        self.generation = generation
        self.endVersion = endVersion
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("subscribed", true)
        writer.field(key)
        writer.field("generation", generation)
        writer.field("endedAt", endVersion == 0 ? nil : endVersion)
    }

    package init(from record: JSONObject) {
        key = record.scopeKey()
        generation = record["generation"].version()
        endVersion = record["endedAt"].optional?.version() ?? 0
    }
}
