internal import Catalog
internal import CatalogRecords
internal import Identifiers
internal import Lifecycle
internal import Settings
internal import Telemetry

extension Command {
    /// `flotilla keys`: the API keys that give programs access.
    static let keys = Command(
        name: "keys", summary: "Creates, lists, rotates and revokes the API keys of the apps.",
        usage: "[list [APP] | create APP --role ROLE | rotate KEY | revoke KEY] [options]",
        example: "flotilla keys create shop --role report --name ios-app",
        settings: ["topics.prefix", "kafka."],
        options: [
            .value(
                "--role",
                "report (for SDKs), read, send (includes report and read), or admin"
            ),
            .value("--name", "a name that distinguishes it from others"),
            .value("--expires-in", "expires after this time: 90d"),
            .value("--overlap", "rotate: the old key works for this long; the default is 1d"),
            .flag("--json", "prints one JSON object per line instead of a table"),
        ]
    ) { invocation in
        let positionals = invocation.positionals
        switch (positionals.first ?? "list", positionals.count) {
        case ("create", 2): try createKey(ofApp: positionals[1], for: invocation)
        case ("rotate", 2): try rotateKey(named: positionals[1], for: invocation)
        case ("revoke", 2): try revokeKey(named: positionals[1], for: invocation)
        case ("list", 0...2):
            let catalog = try CatalogAccess(settings: invocation.settings).snapshot
            let keys = catalog.keys.values.sorted {
                ($0.app, $0.createdAt, $0.id) < ($1.app, $1.createdAt, $1.id)
            }
            let shownKeys = positionals.count == 2 ? keys.filter { $0.app == positionals[1] } : keys
            KeysOutput(shownKeys).show(for: invocation)
        default:
            throw CommandError(
                status: .usage, "use list, create with an app, or rotate or revoke with a key's id")
        }
    }

    /// Creates a key. Only the key goes to standard output, so that a script can capture it.
    private static func createKey(ofApp app: String, for invocation: Invocation) throws {
        guard let role = invocation.options["--role"].flatMap(APIKey.Role.init) else {
            throw CommandError(status: .usage, "name the role of the key: --role report, read, send or admin")
        }
        let catalog = try CatalogAccess(settings: invocation.settings)
        _ = try catalog.app(id: app)
        let now = WallTime.now()
        var (text, key) = APIKeyText.makeKey(app: app, role: role, atMilliseconds: now.milliseconds)
        if let name = invocation.options["--name"] {
            if let problem = NameRules.problem(name) {
                throw CommandError(status: .usage, "--name \(problem)")
            }
            key.name = name
        }
        if let expiry = invocation.options["--expires-in"] {
            guard let lifetime = Milliseconds(settingText: expiry), lifetime.count > 0 else {
                throw CommandError(status: .usage, "--expires-in must be \(Milliseconds.typeDescription)")
            }
            key.expiresAt = now.milliseconds + Int64(lifetime.count)
        }
        try catalog.makeWriter().write(.put(key, action: "create"), now: now)
        showNewKey(key, text: text, for: invocation)
    }

    /// - Parameter text: the key with its secret.
    private static func showNewKey(_ key: APIKey, text: String, for invocation: Invocation) {
        if invocation.isJSON {
            print(KeysOutput.json(of: key, text: text))
        } else {
            print(text)
            StandardError.printLine(
                "Key \(key.id) is shown only this once; it works within two seconds.")
        }
    }

    /// Creates a new key with the same role. The old key expires after the overlap, so that clients have time
    /// to change.
    private static func rotateKey(named idOrText: String, for invocation: Invocation) throws {
        let overlapText = invocation.options["--overlap"] ?? "1d"
        guard let overlap = Milliseconds(settingText: overlapText), overlap.count >= 0 else {
            throw CommandError(status: .usage, "--overlap must be \(Milliseconds.typeDescription)")
        }
        let catalog = try CatalogAccess(settings: invocation.settings)
        var oldKey = try findKey(named: idOrText, in: catalog)
        let now = WallTime.now()
        let overlapEnd = now.milliseconds + Int64(overlap.count)
        let isExpired = oldKey.expiresAt.map { $0 <= now.milliseconds } ?? false
        guard oldKey.revokedAt == nil, !isExpired else {
            throw CommandError(
                status: .usage, "this key is revoked or expired; create a new one with `flotilla keys create`"
            )
        }
        let generated = APIKeyText.makeKey(
            app: oldKey.app, role: oldKey.role, atMilliseconds: now.milliseconds)
        var newKey = generated.record
        newKey.name = oldKey.name
        let writer = try catalog.makeWriter()
        // The new key is written first. If the process is killed in between, there are two valid keys and not
        // zero.
        try writer.write(.put(newKey, action: "create"), now: now)
        oldKey.expiresAt = min(oldKey.expiresAt ?? overlapEnd, overlapEnd)
        try writer.write(.put(oldKey, action: "rotate"), now: now)
        showNewKey(newKey, text: generated.text, for: invocation)
    }

    /// Returns the key with this id. The argument can also be the key itself, which contains its id.
    private static func findKey(named idOrText: String, in catalog: CatalogAccess) throws -> APIKey {
        guard let key = catalog.snapshot.keys[APIKeyText(idOrText)?.id ?? idOrText] else {
            throw CommandError(status: .usage, "there is no key with this id; `flotilla keys` lists them")
        }
        return key
    }

    private static func revokeKey(named idOrText: String, for invocation: Invocation) throws {
        let catalog = try CatalogAccess(settings: invocation.settings)
        var key = try findKey(named: idOrText, in: catalog)
        if key.revokedAt == nil {
            let now = WallTime.now()
            key.revokedAt = now.milliseconds
            try catalog.makeWriter().write(.put(key, action: "revoke"), now: now)
        }
        KeysOutput([key]).show(for: invocation)
    }
}
