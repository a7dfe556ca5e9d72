internal import CatalogRecords
internal import JSON
internal import Telemetry

/// The output of API keys without their secrets: a table for people, or a JSON object per line for programs.
struct KeysOutput {
    private let keys: [APIKey]

    init(_ keys: [APIKey]) { self.keys = keys }

    func show(for invocation: Invocation) {
        if invocation.isJSON {
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
        if let revokedAt = key.revokedAt { return "revoked \(timeText(milliseconds: revokedAt))" }
        guard let expiresAt = key.expiresAt else { return "good" }
        let isExpired = expiresAt <= WallTime.now().milliseconds
        return "\(isExpired ? "expired" : "good until") \(timeText(milliseconds: expiresAt))"
    }

    private static func timeText(milliseconds: Int64) -> String {
        WallTime(milliseconds: milliseconds).rfc3339
    }

    /// - Parameter text: the key with its secret, for a key that was just made.
    static func json(of key: APIKey, text: String?) -> String {
        JSONLine.text { json in
            json.field("id", key.id)
            json.field("app", key.app)
            json.field("role", key.role.rawValue)
            json.field("name", key.name)
            json.field("createdAt", key.createdAt)
            json.field("expiresAt", key.expiresAt)
            json.field("revokedAt", key.revokedAt)
            json.field("key", text)
        }
    }
}
