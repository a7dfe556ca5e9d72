internal import Catalog
internal import CatalogRecords
internal import Lifecycle
internal import Telemetry

extension Command {
    /// `flotilla apps`: the apps that this installation serves.
    static let apps = Command(
        name: "apps", summary: "Shows, creates, changes and deletes the apps that are served.",
        usage:
            "[list | show APP | create APP | update APP | delete APP --yes | user-proof APP] [options]",
        example:
            "flotilla apps create shop --bundle-id com.example.shop --team-id ABCDE12345 --key-id KEY1234567",
        settings: ["topics.prefix", "tokens.", "kafka."],
        options: appOptions + UserProofChange.options
    ) { invocation in
        let verb = invocation.positionals.first ?? "list"
        let appIDs = invocation.positionals.dropFirst()
        if invocation.hasOption("--certificate") {
            throw CommandError(status: .usage, "--certificate \(AppDocument.certificateProblem)")
        }
        guard ["list", "show", "create", "update", "delete", "user-proof"].contains(verb),
            appIDs.count == (verb == "list" ? 0 : 1)
        else {
            throw CommandError(
                status: .usage, "use list, or show, create, update, delete or user-proof with one app")
        }
        let catalog = try CatalogAccess(settings: invocation.settings)
        let id = appIDs.first ?? ""
        switch verb {
        case "create":
            guard catalog.snapshot.apps[id] == nil else {
                throw CommandError(
                    status: .usage, "there is an app \(id) already; change it with `flotilla apps update`")
            }
            let app = try AppOptions(of: invocation).app(id: id, basedOn: nil)
            try catalog.makeWriter().write(.put(app, action: "create"), now: .now())
            AppsOutput([app]).show(for: invocation)
            if app.activityTypes.isEmpty {
                StandardError.printLine(
                    "flotilla apps: a start is refused until its activity type exists; create one with `flotilla types put \(id) NAME`"
                )
            }
        case "update":
            // `catalog.app(id:)` has all activity types, and would copy those with their own records into the document.
            let app = try AppOptions(of: invocation).app(id: id, basedOn: catalog.document(of: id))
            try catalog.makeWriter().write(.put(app, action: "update"), now: .now())
            AppsOutput([app]).show(for: invocation)
        case "delete":
            try deleteApp(catalog.app(id: id), in: catalog, isConfirmed: invocation.hasOption("--yes"))
        case "user-proof":
            try UserProofChange(for: invocation, of: catalog.document(of: id), in: catalog).run()
        case "show": AppsOutput([try catalog.app(id: id)]).show(for: invocation)
        default: AppsOutput(catalog.snapshot.apps.values.sorted { $0.id < $1.id }).show(for: invocation)
        }
    }

    private static let appOptions: [CommandOption] = [
        .value("--bundle-id", "the app's bundle id"),
        .value("--team-id", "the ten characters of the team at developer.apple.com"),
        .value("--key-id", "the ten characters of the key (.p8); the file itself stays on the senders"),
        .value(
            "--environments",
            "production, sandbox, or both separated by a comma; the default is production"
        ),
        .value(
            "--unproven-schedules",
            "yes lets phones schedule and cancel without a user proof: anyone with the app can then do it for any user; the default is no"
        ),
        .value("--file", "the whole app in JSON, with its activity types, as `show --json` prints it"),
        .value("--certificate", "not supported; the command explains why"),
        .flag("--yes", "delete: confirms the deletion"),
        .flag("--json", "prints one JSON object per line instead of a table"),
    ]

    private static func deleteApp(_ app: App, in catalog: CatalogAccess, isConfirmed: Bool) throws {
        let keys = catalog.snapshot.keys(of: app.id)
        guard isConfirmed else {
            throw CommandError(
                status: .usage,
                "deleting \(app.id) rejects all its phones and its \(keys.count) keys from now on; confirm with --yes"
            )
        }
        try catalog.makeWriter().delete(
            app, withKeys: keys, otherRecordKeys: catalog.snapshot.otherRecordKeys(of: app.id), now: .now())
        print("deleted \(app.id) and \(keys.count) keys")
    }
}
