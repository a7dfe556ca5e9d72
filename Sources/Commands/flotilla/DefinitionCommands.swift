internal import Catalog
internal import CatalogRecords
internal import FoundationEssentials
internal import Identifiers
internal import JSON
internal import Lifecycle
internal import RecordFormat
internal import Telemetry

extension Command {
    private static let definitionOptions: [(flag: String, takesValue: Bool, sentence: String)] = [
        ("--file", true, "put: reads the JSON from this file"),
        ("--json", false, "prints one JSON object per line instead of a table"),
    ]

    /// `flotilla types`: the definitions of an app's `ActivityAttributes` types.
    static let types = Command(
        name: "types", summary: "Shows, puts and deletes an app's activity types.",
        usage: "[list APP | show APP NAME | put APP NAME [JSON] | delete APP NAME] [options]",
        example: #"flotilla types put shop MatchAttributes '{"requiredAttributes":["homeTeamName"]}'"#,
        settings: ["topics.prefix", "kafka."], options: definitionOptions
    ) { invocation in
        let part = try DefinitionArguments(from: invocation)
        let catalog = try CatalogAccess(settings: invocation.settings)
        let app = try catalog.app(id: part.app)
        switch part.verb {
        case .list: TypesOutput(app.activityTypes).show(for: invocation)
        case .show:
            TypesOutput(app.activityTypes.filter { $0.name.isExactlyEqual(to: part.name) }).show(
                for: invocation)
        case .put:
            let type = try part.decodeDefinition { value in
                let object = value.object()
                let type = ActivityType(name: part.name, from: object)
                _ = object["name"]
                object.reportUnknownFields()
                return type
            }
            let change = CatalogChange.put(ActivityTypeRecord(app: app.id, type: type))
            try catalog.makeWriter().write(change, now: .now())
            TypesOutput([type]).show(for: invocation)
        case .delete:
            guard catalog.snapshot.types(of: app.id)[part.name] != nil else {
                throw CommandError(
                    status: .usage,
                    "no separate record exists for type \(part.name); change the types of the app's document with `flotilla apps update`"
                )
            }
            try catalog.makeWriter().write(.deleteType(part.name, of: app.id), now: .now())
            print("deleted type \(part.name) of \(app.id)")
        }
    }

    /// `flotilla segments`: rules that choose an audience.
    static let segments = Command(
        name: "segments", summary: "Shows, puts and deletes an app's segments.",
        usage: "[list APP | show APP NAME | put APP NAME [JSON] | delete APP NAME] [options]",
        example: #"flotilla segments put shop adults '{"attribute":"age","atLeast":18}'"#,
        settings: ["topics.prefix", "kafka."], options: definitionOptions
    ) { invocation in
        let part = try DefinitionArguments(from: invocation)
        let catalog = try CatalogAccess(settings: invocation.settings)
        let app = try catalog.app(id: part.app)
        let known = catalog.snapshot.segments(of: app.id)
        switch part.verb {
        case .list: SegmentsOutput(known.values.sorted { $0.name < $1.name }).show(for: invocation)
        case .show:
            SegmentsOutput(known.values.filter { $0.name.isExactlyEqual(to: part.name) }).show(
                for: invocation)
        case .put:
            let segment = Segment(
                app: app.id, name: part.name, rule: try part.decodeDefinition { $0.segmentRule() })
            try catalog.makeWriter().write(.put(segment), now: .now())
            SegmentsOutput([segment]).show(for: invocation)
        case .delete:
            guard let segment = known[part.name] else {
                throw CommandError(status: .usage, "there is no segment \(part.name) of \(app.id)")
            }
            try catalog.makeWriter().write(.delete(segment), now: .now())
            print("deleted segment \(part.name) of \(app.id)")
        }
    }
}

/// The words of a call about an activity type or a segment: verb, app and name.
private struct DefinitionArguments {
    enum Verb: String { case list, show, put, delete }

    let verb: Verb
    let app: String
    let name: String
    private let text: String?
    private let file: String?

    init(from invocation: Invocation) throws {
        let words = invocation.positionals
        guard let verb = words.first.flatMap(Verb.init),
            (verb == .list ? 2...2 : 3...(verb == .put ? 4 : 3))
                .contains(words.count)
        else {
            throw CommandError(
                status: .usage, "use list with an app, or show, put or delete with an app and a name")
        }
        self.verb = verb
        app = words[1]
        name = words.count > 2 ? words[2] : ""
        text = words.count > 3 ? words[3] : nil
        file = invocation.options["--file"]
        if verb != .list, let problem = NameRules.problem(name) {
            throw CommandError(status: .usage, "the name \(problem)")
        }
    }

    func decodeDefinition<T>(with decode: (JSONValue) -> T) throws -> T {
        do {
            return try JSONReader(limits: JSONLimits(bytesMax: 64 * 1024)).read(
                definitionBytes(), decode: decode)
        } catch let error as JSONError {
            throw CommandError(status: .dataError, error.problems.map(\.description).joined(separator: "\n"))
        }
    }

    private func definitionBytes() throws -> [UInt8] {
        switch (text, file) {
        case (let text?, nil): return Array(text.utf8)
        case (nil, let file?):
            guard let data = FileManager.default.contents(atPath: file) else {
                throw CommandError(status: .noInput, "cannot read \(file)")
            }
            return Array(data)
        default:
            throw CommandError(
                status: .usage, "give the definition as one JSON text, or in a file with --file")
        }
    }
}

private struct TypesOutput {
    private let types: [ActivityType]

    init(_ types: [ActivityType]) { self.types = types }

    func show(for invocation: Invocation) {
        if invocation.options["--json"] != nil {
            for type in types {
                var json = JSONWriter()
                type.write(to: &json)
                print(String(decoding: json.bytes, as: UTF8.self))
            }
        } else if types.isEmpty {
            print("no such activity type; `flotilla types put --help` says how to make one")
        } else {
            let headers = ["type", "groups", "group attribute", "required attributes", "schemas"]
            print(Table(headers: headers, rows: types.map(cells)).text)
        }
    }

    private func cells(of type: ActivityType) -> [String] {
        let schemas = [
            type.contentStateSchema.map { _ in "content-state" },
            type.attributesSchema.map { _ in "attributes" },
        ].compactMap(\.self)
        return [
            type.name, type.isPrivate ? "private" : "shared", type.groupAttribute,
            type.requiredAttributes.isEmpty ? "–" : type.requiredAttributes.joined(separator: ","),
            schemas.isEmpty ? "–" : schemas.joined(separator: ","),
        ]
    }
}

private struct SegmentsOutput {
    private let segments: [Segment]

    init(_ segments: [Segment]) { self.segments = segments }

    func show(for invocation: Invocation) {
        if invocation.options["--json"] != nil {
            for segment in segments { print(String(decoding: segment.encoded(), as: UTF8.self)) }
        } else if segments.isEmpty {
            print("no such segment; `flotilla segments put --help` says how to make one")
        } else {
            print(
                Table(headers: ["segment", "rule"], rows: segments.map { [$0.name, Self.ruleJSON(of: $0)] })
                    .text)
        }
    }

    private static func ruleJSON(of segment: Segment) -> String {
        var json = JSONWriter()
        json.value(segment.rule)
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
