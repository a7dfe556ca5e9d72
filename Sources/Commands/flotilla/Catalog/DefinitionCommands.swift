internal import Catalog
internal import CatalogRecords
internal import Identifiers
internal import JSON
internal import Lifecycle
internal import Telemetry

extension Command {
    private static let definitionOptions: [CommandOption] = [
        .value("--file", "put: reads the JSON from this file"),
        .flag("--json", "prints one JSON object per line instead of a table"),
    ]

    /// `flotilla types`: the definitions of an app's `ActivityAttributes` types.
    static let types = Command(
        name: "types", summary: "Shows, puts and deletes an app's activity types.",
        usage: "[list APP | show APP NAME | put APP NAME [JSON] | delete APP NAME] [options]",
        example: #"flotilla types put shop MatchAttributes '{"requiredAttributes":["homeTeamName"]}'"#,
        settings: ["topics.prefix", "kafka."], options: definitionOptions
    ) { invocation in
        let arguments = try DefinitionArguments(from: invocation)
        let catalog = try CatalogAccess(settings: invocation.settings)
        let app = try catalog.app(id: arguments.app)
        switch arguments.verb {
        case .list: TypesOutput(app.activityTypes).show(for: invocation)
        case .show:
            TypesOutput(app.activityTypes.filter { $0.name.isExactlyEqual(to: arguments.name) }).show(
                for: invocation)
        case .put:
            let type = try arguments.decodeDefinition { value in
                let object = value.object()
                let type = ActivityType(name: arguments.name, from: object)
                // The name may also be in the JSON, as `show --json` prints it. It is read, so that it is not unknown.
                _ = object["name"]
                ActivityType.reportUnknownFields(in: object)
                return type
            }
            let change = CatalogChange.put(ActivityTypeRecord(app: app.id, type: type))
            try catalog.makeWriter().write(change, now: .now())
            TypesOutput([type]).show(for: invocation)
        case .delete:
            guard catalog.snapshot.hasTypeRecord(named: arguments.name, of: app.id) else {
                throw CommandError(
                    status: .usage,
                    "no separate record exists for type \(arguments.name); change the types of the app's document with `flotilla apps update`"
                )
            }
            try catalog.makeWriter().write(.deleteType(arguments.name, of: app.id), now: .now())
            print("deleted type \(arguments.name) of \(app.id)")
        }
    }

    /// `flotilla segments`: rules that choose an audience.
    static let segments = Command(
        name: "segments", summary: "Shows, puts and deletes an app's segments.",
        usage: "[list APP | show APP NAME | put APP NAME [JSON] | delete APP NAME] [options]",
        example: #"flotilla segments put shop adults '{"attribute":"age","atLeast":18}'"#,
        settings: ["topics.prefix", "kafka."], options: definitionOptions
    ) { invocation in
        let arguments = try DefinitionArguments(from: invocation)
        let catalog = try CatalogAccess(settings: invocation.settings)
        let app = try catalog.app(id: arguments.app)
        let segments = catalog.snapshot.segments(of: app.id)
        switch arguments.verb {
        case .list: SegmentsOutput(segments).show(for: invocation)
        case .show:
            SegmentsOutput(segments.filter { $0.name.isExactlyEqual(to: arguments.name) }).show(
                for: invocation)
        case .put:
            let segment = Segment(
                app: app.id, name: arguments.name, rule: try arguments.decodeDefinition { $0.segmentRule() })
            try catalog.makeWriter().write(.put(segment), now: .now())
            SegmentsOutput([segment]).show(for: invocation)
        case .delete:
            guard let segment = catalog.snapshot.segment(named: arguments.name, of: app.id) else {
                throw CommandError(status: .usage, "there is no segment \(arguments.name) of \(app.id)")
            }
            try catalog.makeWriter().write(.delete(segment), now: .now())
            print("deleted segment \(arguments.name) of \(app.id)")
        }
    }
}
