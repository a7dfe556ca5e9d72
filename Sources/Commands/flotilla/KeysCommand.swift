internal import Catalog
internal import FoundationEssentials
internal import JSON
internal import Lifecycle
internal import LiveActivity
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
        let words = invocation.words
        switch (words.first ?? "list", words.count) {
        case ("create", 2): try create(words[1], invocation)
        case ("rotate", 2): try rotate(words[1], invocation)
        case ("revoke", 2): try revoke(words[1], invocation)
        case ("list", 0...2):
            let catalog = try CatalogAccess(invocation.settings).catalog
            let keys = catalog.keys.values.sorted {
                ($0.app, $0.createdAt, $0.id) < ($1.app, $1.createdAt, $1.id)
            }
            KeyLines(words.count == 2 ? keys.filter { $0.app == words[1] } : keys).show(invocation)
        default:
            throw Refusal(status: .usage, "use list, create with an app, or rotate or revoke with a key's id")
        }
    }

    /// Creates a key. Only the key goes to standard output, so that a script can capture it.
    private static func create(_ app: String, _ invocation: Invocation) throws {
        guard let role = invocation.options["--role"].flatMap(APIKey.Role.init) else {
            throw Refusal(status: .usage, "name the role of the key: --role report, read, send or admin")
        }
        let catalog = try CatalogAccess(invocation.settings)
        _ = try catalog.app(app)
        let now = WallTime.now()
        var (text, key) = APIKeyText.makeKey(app: app, role: role, atMilliseconds: now.milliseconds)
        if let name = invocation.options["--name"] {
            if let problem = NameRules.problem(name) { throw Refusal(status: .usage, "--name \(problem)") }
            key.name = name
        }
        if let expiry = invocation.options["--expires-in"] {
            guard let time = Milliseconds(settingText: expiry), time.count > 0 else {
                throw Refusal(status: .usage, "--expires-in must be \(Milliseconds.typeDescription)")
            }
            key.expiresAt = now.milliseconds + Int64(time.count)
        }
        try catalog.writer().put(key, action: "key.create", now: now)
        show(key, text: text, invocation)
    }

    private static func show(_ key: APIKey, text: String, _ invocation: Invocation) {
        if invocation.options["--json"] != nil {
            print(KeyLines.json(key, text: text))
        } else {
            print(text)
            StandardError.tell(
                "Key \(key.id) is shown only this once; it works within two seconds.")
        }
    }

    /// Creates a new key with the same role. The old key expires after the overlap, so that clients have time
    /// to change.
    private static func rotate(_ word: String, _ invocation: Invocation) throws {
        let overlap = invocation.options["--overlap"] ?? "1d"
        guard let time = Milliseconds(settingText: overlap), time.count >= 0 else {
            throw Refusal(status: .usage, "--overlap must be \(Milliseconds.typeDescription)")
        }
        let catalog = try CatalogAccess(invocation.settings)
        var old = try key(word, in: catalog)
        let now = WallTime.now()
        let end = now.milliseconds + Int64(time.count)
        guard old.revokedAt == nil, old.expiresAt.map({ $0 > now.milliseconds }) ?? true else {
            throw Refusal(
                status: .usage, "this key is revoked or expired; create a new one with `flotilla keys create`"
            )
        }
        let minted = APIKeyText.makeKey(app: old.app, role: old.role, atMilliseconds: now.milliseconds)
        var made = minted.record
        made.name = old.name
        let writer = try catalog.writer()
        // The new key is written first. If the process is killed in between, there are two valid keys and not
        // zero.
        try writer.put(made, action: "key.create", now: now)
        old.expiresAt = min(old.expiresAt ?? end, end)
        try writer.put(old, action: "key.rotate", now: now)
        show(made, text: minted.text, invocation)
    }

    /// Returns the key for a word that is its id or its whole text.
    private static func key(_ word: String, in catalog: CatalogAccess) throws -> APIKey {
        guard let key = catalog.catalog.keys[APIKeyText(word)?.id ?? word] else {
            throw Refusal(status: .usage, "there is no key with this id; `flotilla keys` lists them")
        }
        return key
    }

    private static func revoke(_ word: String, _ invocation: Invocation) throws {
        let catalog = try CatalogAccess(invocation.settings)
        var key = try key(word, in: catalog)
        if key.revokedAt == nil {
            let now = WallTime.now()
            key.revokedAt = now.milliseconds
            try catalog.writer().put(key, action: "key.revoke", now: now)
        }
        KeyLines([key]).show(invocation)
    }
}

/// The output of keys without their secrets, for people and for programs.
private struct KeyLines {
    private let keys: [APIKey]

    init(_ keys: [APIKey]) { self.keys = keys }

    func show(_ invocation: Invocation) {
        if invocation.options["--json"] != nil {
            for key in keys { print(Self.json(key, text: nil)) }
        } else if keys.isEmpty {
            print("no key yet; `flotilla keys create --help` says how to make one")
        } else {
            let heads = ["key", "app", "role", "name", "created", "state"]
            print(Table(heads, keys.map(Self.cells)).text)
        }
    }

    private static func cells(_ key: APIKey) -> [String] {
        [key.id, key.app, key.role.rawValue, key.name ?? "–", time(key.createdAt), state(key)]
    }

    private static func state(_ key: APIKey) -> String {
        if let revoked = key.revokedAt { return "revoked \(time(revoked))" }
        guard let expires = key.expiresAt else { return "good" }
        let isOver = expires <= WallTime.now().milliseconds
        return isOver ? "expired \(time(expires))" : "good until \(time(expires))"
    }

    private static func time(_ milliseconds: Int64) -> String { WallTime(milliseconds: milliseconds).rfc3339 }

    static func json(_ key: APIKey, text: String?) -> String {
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
