internal import Catalog
internal import CatalogRecords
internal import FoundationEssentials
internal import Identifiers
internal import JSON
internal import Lifecycle
internal import RecordFormat
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
        options: [
            ("--bundle-id", true, "the app's bundle id"),
            ("--team-id", true, "the ten characters of the team at developer.apple.com"),
            ("--key-id", true, "the ten characters of the key (.p8); the file itself stays on the senders"),
            (
                "--environments", true,
                "production, sandbox, or both separated by a comma; the default is production"
            ),
            ("--file", true, "the whole app in JSON, with its activity types, as `show --json` prints it"),
            ("--certificate", true, "not supported; the command explains why"),
            ("--yes", false, "delete: confirms the deletion"),
            ("--json", false, "prints one JSON object per line instead of a table"),
        ] + UserProofChange.options
    ) { invocation in
        let verb = invocation.positionals.first ?? "list"
        let rest = invocation.positionals.dropFirst()
        if invocation.options["--certificate"] != nil {
            throw CommandError(status: .usage, "--certificate \(AppDocument.certificateProblem)")
        }
        guard ["list", "show", "create", "update", "delete", "user-proof"].contains(verb),
            rest.count == (verb == "list" ? 0 : 1)
        else {
            throw CommandError(
                status: .usage, "use list, or show, create, update, delete or user-proof with one app")
        }
        let catalog = try CatalogAccess(settings: invocation.settings)
        let id = rest.first ?? ""
        switch verb {
        case "create":
            guard catalog.snapshot.apps[id] == nil else {
                throw CommandError(
                    status: .usage, "there is an app \(id) already; change it with `flotilla apps update`")
            }
            let app = try AppOptions(of: invocation).app(id: id, basedOn: nil)
            try catalog.makeWriter().put(app, action: "app.create", now: .now())
            AppsOutput([app]).show(for: invocation)
        case "update":
            let app = try AppOptions(of: invocation).app(id: id, basedOn: catalog.document(of: id))
            try catalog.makeWriter().put(app, action: "app.update", now: .now())
            AppsOutput([app]).show(for: invocation)
        case "delete":
            try deleteApp(catalog.app(id: id), in: catalog, isConfirmed: invocation.options["--yes"] != nil)
        case "user-proof":
            try UserProofChange(for: invocation, of: try catalog.document(of: id), in: catalog).run()
        case "show": AppsOutput([try catalog.app(id: id)]).show(for: invocation)
        default: AppsOutput(catalog.snapshot.apps.values.sorted { $0.id < $1.id }).show(for: invocation)
        }
    }

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

/// The options of the call, applied over a file or over the stored app.
private struct AppOptions {
    private let options: [String: String]

    init(of invocation: Invocation) { options = invocation.options }

    func app(id: String, basedOn old: App?) throws -> App {
        do {
            var base = old
            if let file = options["--file"] {
                base = try AppDocument.parse(Self.contents(ofFile: file), id: id)
            }
            var app = try AppDocument.parse(document(basedOn: base), id: id)
            // The document holds no secrets, so the stored user proof stays.
            app.userProof = old?.userProof
            return app
        } catch let error as JSONError {
            let lines = error.problems.map { "app \(id): \($0)" }
            throw CommandError(status: .dataError, lines.joined(separator: "\n"))
        }
    }

    private func document(basedOn base: App?) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        func writeField(_ name: StaticString, flag: String, stored old: String?) {
            guard let value = options[flag] ?? old else { return }
            json.name(name)
            json.value(value)
        }
        writeField("bundleId", flag: "--bundle-id", stored: base?.bundleID)
        writeField("teamId", flag: "--team-id", stored: base?.teamID)
        if let file = options["--key-id"], file.contains(".") {
            // The value has a dot, so the caller meant a file. The decoder refuses this field and explains
            // why.
            json.name(file.hasSuffix(".p8") ? "p8" : "certificate")
            json.value(file)
        } else {
            writeField("keyId", flag: "--key-id", stored: base?.keyID)
        }
        json.name("environments")
        json.beginArray()
        let namedEnvironments = options["--environments"]?.split(separator: ",").map(String.init)
        for environment in namedEnvironments ?? base?.environments.map(\.rawValue) ?? ["production"] {
            json.value(environment)
        }
        json.endArray()
        json.name("activityTypes")
        json.beginArray()
        for type in base?.activityTypes ?? [] { type.write(to: &json) }
        json.endArray()
        json.endObject()
        return json.bytes
    }

    private static func contents(ofFile file: String) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw CommandError(status: .noInput, "cannot read \(file); name a JSON file with --file")
        }
        return Array(data)
    }
}

/// The output of apps, for people and for programs.
private struct AppsOutput {
    private let apps: [App]

    init(_ apps: [App]) { self.apps = apps }

    func show(for invocation: Invocation) {
        if invocation.options["--json"] != nil {
            for var app in apps {
                // The output is what `--file` accepts. It shows no secrets, not even sealed ones.
                app.userProof = nil
                print(String(decoding: app.encoded(), as: UTF8.self))
            }
        } else if apps.isEmpty {
            print("no app yet; `flotilla apps create --help` says how to make one")
        } else {
            let headers = ["app", "bundle id", "environments", "team", "key", "activity types"]
            print(Table(headers: headers, rows: apps.map(cells)).text)
        }
    }

    private func cells(of app: App) -> [String] {
        [
            app.id, app.bundleID, app.environments.map(\.rawValue).joined(separator: ","), app.teamID,
            app.keyID,
            app.activityTypes.isEmpty ? "any" : app.activityTypes.map(\.name).joined(separator: ","),
        ]
    }
}
