internal import Identifiers
package import JSON
internal import RecordFormat

/// A person's query that a gateway passes to a process of the insight stage. The gateway has already checked
/// the API key, and `app` is the app of that key.
package struct InsightQuery: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// The path at which a process of the stage accepts the query.
    package static let path = "/answers"
    /// The name of the stage in `members`.
    package static let stage = "insight"

    package enum Kind: String, CaseIterable, Sendable {
        case report
        /// The time of acceptance of a send, for the gateway's search. No person asks it.
        case locate
        case sends
        /// The failed pushes of one send.
        case failures
        /// Throughput, latency and freshness over time.
        case series
        case groups
        case group
        case timeline
        case users
        case installations
        case user
        case installation
        case events
        case eventCounts
        case audit
        case fleet
        /// The part of `fleet` that is about the app, for keys that may not see the whole installation.
        case fleetOfApp
        /// The send and the schedule behind the newest push to an activity, for a tap.
        case tapOrigin
        /// The newest calls of a webhook endpoint.
        case deliveries
    }

    /// The maximum number of query parameters. More make the record invalid.
    private static let parametersMax = 20

    package struct Parameter: Sendable, Hashable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package var name: Kind
    package var app: String
    /// The API key that asks, so that each key gets a fair share: the app and the key's id.
    package var caller: String
    /// The id in the request's path.
    package var id: String?
    package var parameters: [Parameter]

    /// - Parameter key: The id of the API key, or nil for the app itself.
    package init(
        _ name: Kind, app: String, key: String? = nil, id: String? = nil, parameters: [Parameter] = []
    ) {
        self.name = name
        self.app = app
        caller = key.map { "\(app)/\($0)" } ?? app
        self.id = id
        self.parameters = parameters
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("name", name.rawValue)
        writer.field("app", app)
        writer.field("caller", caller)
        writer.field("id", id)
        writer.name("parameters")
        writer.beginArray()
        for parameter in parameters {
            writer.value(parameter.name)
            writer.value(parameter.value)
        }
        writer.endArray()
    }

    package init(from record: JSONObject) {
        self.init(
            record["name"].choice(of: Kind.self) ?? .report, app: record["app"].appID(),
            id: record["id"].optional?.string())
        if let caller = record["caller"].optional?.string() { self.caller = caller }
        var elements = record["parameters"].array(countMax: 2 * Self.parametersMax)
        while let name = elements.next(), let value = elements.next() {
            parameters.append(Parameter(name: name.string(), value: value.string()))
        }
    }
}
