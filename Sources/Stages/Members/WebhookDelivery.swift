internal import Identifiers
package import JSON
internal import Lifecycle

/// One call of a webhook endpoint, for people who look for a problem.
package struct WebhookDelivery: Sendable, Hashable {
    /// The newest calls of an endpoint that a process remembers.
    package static let perEndpointMax = 20
    /// The calls of all endpoints that a process remembers and publishes. Beyond it the oldest are forgotten.
    package static let countMax = 200
    /// The most characters of a reason that are kept.
    private static let reasonCharactersMax = 200

    package var app: String
    /// The name of the endpoint.
    package var endpoint: String
    /// The id of the event, which is the header `webhook-id`.
    package var event: String
    package var type: String
    /// The time at which the call ended, in milliseconds since 1970.
    package var at: Int64
    /// The duration of the call.
    package var milliseconds: Int
    /// `delivered`, `failed`, `given_up` or `gone`.
    package var outcome: String
    /// The number of this attempt, from 1.
    package var attempt: Int
    /// The reason of a failure.
    package var reason: String?
    /// The time of the next attempt in milliseconds since 1970, if there is one.
    package var nextAttemptAt: Int64?

    package init(
        app: String, endpoint: String, event: String, type: String, at: Int64, milliseconds: Int,
        outcome: String, attempt: Int, reason: String? = nil, nextAttemptAt: Int64? = nil
    ) {
        self.app = app
        self.endpoint = endpoint
        self.event = event
        self.type = type
        self.at = at
        self.milliseconds = milliseconds
        self.outcome = outcome
        self.attempt = attempt
        self.reason = reason.map { String($0.prefix(Self.reasonCharactersMax)) }
        self.nextAttemptAt = nextAttemptAt
    }

    /// Writes the fields of the call, without its app and its endpoint.
    package func writeCall(to writer: inout JSONWriter) {
        writer.field("eventId", event)
        writer.field("type", type)
        writer.field("at", at)
        writer.field("milliseconds", milliseconds)
        writer.field("outcome", outcome)
        writer.field("attempt", attempt)
        writer.field("reason", reason)
        writer.field("nextAttemptAt", nextAttemptAt)
    }

    func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        writer.field("endpoint", endpoint)
        writeCall(to: &writer)
    }

    init(from object: JSONObject) {
        self.init(
            app: object["app"].name(), endpoint: object["endpoint"].name(), event: object["eventId"].name(),
            type: object["type"].name(), at: object["at"].timeMilliseconds(),
            milliseconds: object["milliseconds"].int(in: 0...Int.max), outcome: object["outcome"].name(),
            attempt: object["attempt"].int(in: 0...Int.max), reason: object["reason"].optional?.string(),
            nextAttemptAt: object["nextAttemptAt"].optional?.timeMilliseconds())
    }
}

/// The newest calls of webhook endpoints by this process, which it publishes with its `ProcessFacts`. Any thread may use it.
package final class WebhookDeliveries: Sendable {
    private struct EndpointName: Hashable {
        let app: String
        let name: String
    }

    private let calls = TracedLock<[EndpointName: [WebhookDelivery]]>([:])

    package init() {}

    package func add(_ delivery: WebhookDelivery) {
        let name = EndpointName(app: delivery.app, name: delivery.endpoint)
        calls.withLock { calls in
            calls[name, default: []].append(delivery)
            if calls[name, default: []].count > WebhookDelivery.perEndpointMax {
                calls[name]?.removeFirst()
            }
        }
    }

    /// The calls, the newest first.
    package var newest: [WebhookDelivery] {
        let all = calls.withLock { calls in calls.values.flatMap(\.self) }
        return Array(all.sorted { ($0.at, $0.event) > ($1.at, $1.event) }.prefix(WebhookDelivery.countMax))
    }
}
