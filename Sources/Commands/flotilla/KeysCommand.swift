internal import Catalog
internal import CatalogRecords
internal import FoundationEssentials
internal import Identifiers
internal import JSON
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
            (
                "--role", true,
                "report (for SDKs), read, send (includes report and read), or admin"
            ),
            ("--name", true, "a name that distinguishes it from others"),
            ("--expires-in", true, "expires after this time: 90d"),
            ("--overlap", true, "rotate: the old key works for this long; the default is 1d"),
            ("--json", false, "prints one JSON object per line instead of a table"),
        ]
    ) { invocation in
        let words = invocation.positionals
        switch (words.first ?? "list", words.count) {
        case ("create", 2): try createKey(ofApp: words[1], for: invocation)
        case ("rotate", 2): try rotateKey(named: words[1], for: invocation)
        case ("revoke", 2): try revokeKey(named: words[1], for: invocation)
        case ("list", 0...2):
            let catalog = try CatalogAccess(settings: invocation.settings).snapshot
            let keys = catalog.keys.values.sorted {
                ($0.app, $0.createdAt, $0.id) < ($1.app, $1.createdAt, $1.id)
            }
            KeysOutput(words.count == 2 ? keys.filter { $0.app == words[1] } : keys).show(for: invocation)
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
            guard let time = Milliseconds(settingText: expiry), time.count > 0 else {
                throw CommandError(status: .usage, "--expires-in must be \(Milliseconds.typeDescription)")
            }
            key.expiresAt = now.milliseconds + Int64(time.count)
        }
        try catalog.makeWriter().put(key, action: "key.create", now: now)
        showNewKey(key, text: text, for: invocation)
    }

    private static func showNewKey(_ key: APIKey, text: String, for invocation: Invocation) {
        if invocation.options["--json"] != nil {
            print(KeysOutput.json(of: key, text: text))
        } else {
            print(text)
            StandardError.printLine(
                "Key \(key.id) is shown only this once; it works within two seconds.")
        }
    }

    /// Creates a new key with the same role. The old key expires after the overlap, so that clients have time
    /// to change.
    private static func rotateKey(named word: String, for invocation: Invocation) throws {
        let overlap = invocation.options["--overlap"] ?? "1d"
        guard let time = Milliseconds(settingText: overlap), time.count >= 0 else {
            throw CommandError(status: .usage, "--overlap must be \(Milliseconds.typeDescription)")
        }
        let catalog = try CatalogAccess(settings: invocation.settings)
        var oldKey = try findKey(named: word, in: catalog)
        let now = WallTime.now()
        let end = now.milliseconds + Int64(time.count)
        guard oldKey.revokedAt == nil, oldKey.expiresAt.map({ $0 > now.milliseconds }) ?? true else {
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
        try writer.put(newKey, action: "key.create", now: now)
        oldKey.expiresAt = min(oldKey.expiresAt ?? end, end)
        try writer.put(oldKey, action: "key.rotate", now: now)
        showNewKey(newKey, text: generated.text, for: invocation)
    }

    /// Returns the key for a word that is its id or its whole text.
    private static func findKey(named word: String, in catalog: CatalogAccess) throws -> APIKey {
        guard let key = catalog.snapshot.keys[APIKeyText(word)?.id ?? word] else {
            throw CommandError(status: .usage, "there is no key with this id; `flotilla keys` lists them")
        }
        return key
    }

    private static func revokeKey(named word: String, for invocation: Invocation) throws {
        let catalog = try CatalogAccess(settings: invocation.settings)
        var key = try findKey(named: word, in: catalog)
        if key.revokedAt == nil {
            let now = WallTime.now()
            key.revokedAt = now.milliseconds
            try catalog.makeWriter().put(key, action: "key.revoke", now: now)
        }
        KeysOutput([key]).show(for: invocation)
    }
}

/// The output of keys without their secrets, for people and for programs.
private struct KeysOutput {
    private let keys: [APIKey]

    init(_ keys: [APIKey]) { self.keys = keys }

    func show(for invocation: Invocation) {
        if invocation.options["--json"] != nil {
            for key in keys { print(Self.json(of: key, text: nil)) }
        } else if keys.isEmpty {
            print("no key yet; `flotilla keys create --help` says how to make one")
        } else {
            let headers = ["key", "app", "role", "name", "created", "state"]
            print(Table(headers: headers, rows: keys.map(Self.cells)).text)
        }
    }

    private static func cells(of key: APIKey) -> [String] {
        [
            key.id, key.app, key.role.rawValue, key.name ?? "–", timeText(milliseconds: key.createdAt),
            stateText(of: key),
        ]
    }

    private static func stateText(of key: APIKey) -> String {
        if let revoked = key.revokedAt { return "revoked \(timeText(milliseconds: revoked))" }
        guard let expires = key.expiresAt else { return "good" }
        let isExpired = expires <= WallTime.now().milliseconds
        return isExpired
            ? "expired \(timeText(milliseconds: expires))" : "good until \(timeText(milliseconds: expires))"
    }

    private static func timeText(milliseconds: Int64) -> String {
        WallTime(milliseconds: milliseconds).rfc3339
    }

    static func json(of key: APIKey, text: String?) -> String {
        var line = JSONLine()
        line.field("id", key.id)
        line.field("app", key.app)
        line.field("role", key.role.rawValue)
        if let name = key.name { line.field("name", name) }
        line.field("createdAt", key.createdAt)
        if let expires = key.expiresAt { line.field("expiresAt", expires) }
        if let revoked = key.revokedAt { line.field("revokedAt", revoked) }
        if let text { line.field("key", text) }
        return line.text
    }
}
