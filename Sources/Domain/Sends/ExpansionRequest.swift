package import JSON
internal import RecordFormat

/// Any record of `expansions.urgent` or `expansions`. All kinds have the same schema version, because they share the topic.
package indirect enum ExpansionRequest: JSONRecord, Hashable {
    case expansion(Expansion)
    case stop(StopInstruction)
    case subscriptionAnswer(SubscriptionAnswer)

    package static let schemaVersion = Expansion.schemaVersion

    package func write(to writer: inout JSONWriter) {
        switch self {
        case .expansion(let expansion): expansion.write(to: &writer)
        case .stop(let stop): stop.write(to: &writer)
        case .subscriptionAnswer(let answer): answer.write(to: &writer)
        }
    }

    package init(from record: JSONObject) {
        if !record["stops"].isMissing {
            self = .stop(StopInstruction(from: record))
        } else if !record["subscribed"].isMissing {
            self = .subscriptionAnswer(SubscriptionAnswer(from: record))
        } else {
            self = .expansion(Expansion(from: record))
        }
    }
}
