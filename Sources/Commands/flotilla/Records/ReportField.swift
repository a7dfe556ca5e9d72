internal import InstallationRecords
internal import JSON
internal import Lifecycle

/// A field of a report that an option of `flotilla report` can set: `--app` sets `app`.
struct ReportField: Sendable {
    enum ValueKind { case text, list, boolean, number }

    let flag: String
    /// The name of the field in JSON.
    let name: String
    let kind: ValueKind
    let help: String

    private init(_ flag: String, for name: String, help sentence: String, kind: ValueKind = .text) {
        self.flag = flag
        self.name = name
        self.kind = kind
        self.help = sentence
    }

    static let all: [ReportField] = [
        ReportField("--app", for: "app", help: "the id of the app"),
        ReportField(
            "--environment", for: "environment", help: "production or sandbox; the default is production"),
        ReportField("--installation-id", for: "installationId", help: "the id of the installation"),
        ReportField("--user-id", for: "userId", help: "the id of the user who is logged in"),
        ReportField(
            "--kind", for: "kind",
            help: Report.Kind.allCases.map(\.rawValue).joined(separator: ", ")),
        ReportField("--attributes-type", for: "attributesType", help: "the activity type"),
        ReportField("--activity-id", for: "activityId", help: "the id of the activity"),
        ReportField("--group-id", for: "groupId", help: "the id of the activity's group"),
        ReportField(
            "--token", for: "token",
            help: "the push token, in hexadecimal; other users of the machine see it in the list of processes"
        ),
        ReportField("--state", for: "state", help: "active, pending, stale, ended or dismissed"),
        ReportField(
            "--running", for: "running", help: "the ids of the running activities, separated by commas",
            kind: .list
        ),
        ReportField("--os", for: "os", help: "the version of iOS"),
        ReportField("--tags", for: "tags", help: "tags, separated by commas", kind: .list),
        ReportField(
            "--frequent-pushes-enabled", for: "frequentPushesEnabled", help: "true or false", kind: .boolean),
        ReportField(
            "--event-time", for: "eventTime", help: "milliseconds since 1970 by the phone's clock",
            kind: .number),
        ReportField("--report-id", for: "reportId", help: "a second report with the same id is a duplicate"),
    ]

    /// Returns the report in JSON: the JSON text that is the positional argument, or the fields of the options.
    static func reportBody(from invocation: Invocation) throws -> [UInt8] {
        let fields = all.filter { invocation.hasOption($0.flag) }
        if let text = invocation.positionals.first {
            guard invocation.positionals.count == 1, fields.isEmpty else {
                throw CommandError(status: .usage, "give the report as one JSON text or by flags, not both")
            }
            return Array(text.utf8)
        }
        if fields.isEmpty { throw CommandError(status: .usage, "give the report as JSON or by flags") }
        // `--token-file` is not a field. It replaces `--token`, and both together are refused.
        let token = try TokenFile.token(for: invocation)
        var json = JSONWriter()
        json.beginObject()
        if let token {
            json.name("token")
            json.value(token)
        }
        for field in fields { field.write(value: invocation.options[field.flag] ?? "", to: &json) }
        if !invocation.hasOption("--environment") {
            json.name("environment")
            json.value("production")
        }
        json.endObject()
        return json.bytes
    }

    private func write(value text: String, to json: inout JSONWriter) {
        json.name(name)
        switch kind {
        case .list:
            json.beginArray()
            for element in text.split(separator: ",") { json.value(String(element)) }
            json.endArray()
        case .text: json.value(text)
        // A wrong value stays a text, and the gateway's rules refuse it with the field's name.
        case .boolean:
            if ["true", "false"].contains(text) { json.value(text == "true") } else { json.value(text) }
        case .number:
            if let number = Int64(text) { json.value(number) } else { json.value(text) }
        }
    }
}
