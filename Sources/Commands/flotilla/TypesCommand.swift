internal import Catalog
internal import FoundationEssentials
internal import JSON
internal import Lifecycle
internal import LiveActivity
internal import Telemetry

extension Command {
    private static let partOptions: [(flag: String, takesValue: Bool, sentence: String)] = [
        ("--file", true, "put: reads the JSON from this file"),
        ("--json", false, "prints one JSON object per line instead of a table"),
    ]

    /// `flotilla types`: the definitions of an app's `ActivityAttributes` types.
    static let types = Command(
        name: "types", summary: "Shows, puts and deletes an app's activity types.",
        usage: "[list APP | show APP NAME | put APP NAME [JSON] | delete APP NAME] [options]",
        example: #"flotilla types put shop MatchAttributes '{"requiredAttributes":["homeTeamName"]}'"#,
        settings: ["topics.prefix", "kafka."], options: partOptions
    ) { invocation in
        let part = try PartCall(invocation)
        let catalog = try CatalogAccess(invocation.settings)
        let app = try catalog.app(part.app)
        switch part.verb {
        case .list: TypeLines(app.activityTypes).show(invocation)
        case .show:
            TypeLines(app.activityTypes.filter { $0.name.isExactlyEqual(to: part.name) }).show(invocation)
        case .put:
            let type = try part.read { value in
                let object = value.object()
                let type = ActivityType(name: part.name, from: object)
                _ = object["name"]
                object.reportUnknownFields()
                return type
            }
            let change = CatalogChange.put(ActivityTypeRecord(app: app.id, type: type))
            try catalog.writer().write(change, now: .now())
            TypeLines([type]).show(invocation)
        case .delete:
            guard catalog.catalog.types(of: app.id)[part.name] != nil else {
                throw Refusal(
                    status: .usage,
                    "no separate record exists for type \(part.name); change the types of the app's document with `flotilla apps update`"
                )
            }
            try catalog.writer().write(.deleteType(part.name, of: app.id), now: .now())
            print("deleted type \(part.name) of \(app.id)")
        }
    }

    /// `flotilla segments`: rules that choose an audience.
    static let segments = Command(
        name: "segments", summary: "Shows, puts and deletes an app's segments.",
        usage: "[list APP | show APP NAME | put APP NAME [JSON] | delete APP NAME] [options]",
        example: #"flotilla segments put shop adults '{"attribute":"age","atLeast":18}'"#,
        settings: ["topics.prefix", "kafka."], options: partOptions
    ) { invocation in
        let part = try PartCall(invocation)
        let catalog = try CatalogAccess(invocation.settings)
        let app = try catalog.app(part.app)
        let known = catalog.catalog.segments(of: app.id)
        switch part.verb {
        case .list: SegmentLines(known.values.sorted { $0.name < $1.name }).show(invocation)
        case .show:
            SegmentLines(known.values.filter { $0.name.isExactlyEqual(to: part.name) }).show(invocation)
        case .put:
            let segment = Segment(
                app: app.id, name: part.name, rule: try part.read { $0.segmentRule() })
            try catalog.writer().write(.put(segment), now: .now())
            SegmentLines([segment]).show(invocation)
        case .delete:
            guard let segment = known[part.name] else {
                throw Refusal(status: .usage, "there is no segment \(part.name) of \(app.id)")
            }
            try catalog.writer().write(.delete(segment), now: .now())
            print("deleted segment \(part.name) of \(app.id)")
        }
    }
}

/// The words of a call about an activity type or a segment: verb, app and name.
private struct PartCall {
    enum Verb: String { case list, show, put, delete }

    let verb: Verb
    let app: String
    let name: String
    private let text: String?
    private let file: String?

    init(_ invocation: Invocation) throws {
        let words = invocation.words
        guard let verb = words.first.flatMap(Verb.init),
            (verb == .list ? 2...2 : 3...(verb == .put ? 4 : 3))
                .contains(words.count)
        else {
            throw Refusal(
                status: .usage, "use list with an app, or show, put or delete with an app and a name")
        }
        self.verb = verb
        app = words[1]
        name = words.count > 2 ? words[2] : ""
        text = words.count > 3 ? words[3] : nil
        file = invocation.options["--file"]
        if verb != .list, let problem = NameRules.problem(name) {
            throw Refusal(status: .usage, "the name \(problem)")
        }
    }

    func read<T>(_ decode: (JSONValue) -> T) throws -> T {
        do {
            return try JSONReader(limits: JSONLimits(bytesMax: 64 * 1024)).read(bytes(), decode: decode)
        } catch let error as JSONError {
            throw Refusal(status: .dataError, error.problems.map(\.description).joined(separator: "\n"))
        }
    }

    private func bytes() throws -> [UInt8] {
        switch (text, file) {
        case (let text?, nil): return Array(text.utf8)
        case (nil, let file?):
            guard let data = FileManager.default.contents(atPath: file) else {
                throw Refusal(status: .noInput, "cannot read \(file)")
            }
            return Array(data)
        default:
            throw Refusal(status: .usage, "give the definition as one JSON text, or in a file with --file")
        }
    }
}

private struct TypeLines {
    private let types: [ActivityType]

    init(_ types: [ActivityType]) { self.types = types }

    func show(_ invocation: Invocation) {
        if invocation.options["--json"] != nil {
            for type in types {
                var json = JSONWriter()
                type.write(to: &json)
                print(String(decoding: json.bytes, as: UTF8.self))
            }
        } else if types.isEmpty {
            print("no such activity type; `flotilla types put --help` says how to make one")
        } else {
            let heads = ["type", "groups", "group attribute", "required attributes", "schemas"]
            print(Table(heads, types.map(cells)).text)
        }
    }

    private func cells(_ type: ActivityType) -> [String] {
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

private struct SegmentLines {
    private let segments: [Segment]

    init(_ segments: [Segment]) { self.segments = segments }

    func show(_ invocation: Invocation) {
        if invocation.options["--json"] != nil {
            for segment in segments { print(String(decoding: segment.encoded(), as: UTF8.self)) }
        } else if segments.isEmpty {
            print("no such segment; `flotilla segments put --help` says how to make one")
        } else {
            print(Table(["segment", "rule"], segments.map { [$0.name, Self.rule($0)] }).text)
        }
    }

    private static func rule(_ segment: Segment) -> String {
        var json = JSONWriter()
        json.value(segment.rule)
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
