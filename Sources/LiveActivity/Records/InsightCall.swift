package import JSON

/// A question of a person, as a gateway hands it to a process of the insight stage: whose key it is, and so for which
/// app, has been decided there.
package struct InsightCall: Record, Hashable {
    package static let schemaVersion = 1
    /// Where a process of the stage takes it.
    package static let path = "/answers"
    /// The word of the stage in `members`.
    package static let stage = "insight"

    package enum Name: String, CaseIterable, Sendable {
        case report
        case sends
        case groups
        case group
        case timeline
        case user
        case installation
        case events
        case eventCounts
        case audit
        case fleet
    }

    /// Fields of a query; more are no question.
    private static let parametersMax = 20

    package struct Parameter: Sendable, Hashable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package var name: Name
    package var app: String
    /// What the path names.
    package var id: String?
    package var parameters: [Parameter]

    package init(_ name: Name, app: String, id: String? = nil, parameters: [Parameter] = []) {
        self.name = name
        self.app = app
        self.id = id
        self.parameters = parameters
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("name", name.rawValue)
        writer.field("app", app)
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
            record["name"].choice(of: Name.self) ?? .report, app: record["app"].appID(),
            id: record["id"].optional?.string())
        var elements = record["parameters"].array(countMax: 2 * Self.parametersMax)
        while let name = elements.next(), let value = elements.next() {
            parameters.append(Parameter(name.string(), value.string()))
        }
    }
}
