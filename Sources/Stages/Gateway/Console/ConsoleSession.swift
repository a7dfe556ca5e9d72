internal import Catalog
internal import Cryptography
internal import LiveActivity
internal import Telemetry

/// A console session. It is stored in the browser's cookie, sealed, and every gateway with the same sealing
/// keys can open it. No gateway stores it. It is valid only as long as its API key.
struct ConsoleSession: Sendable, Equatable {
    /// The lifetime from log-in. Activity does not extend it, because pages poll all the time and would never
    /// expire.
    static let hours = 8
    static let milliseconds = Int64(hours) * 3_600_000
    /// The tolerated clock difference, because another gateway's clock may be ahead.
    private static let clockSkewMillisecondsMax: Int64 = 60_000
    private static let keyDigestBytes = 8

    /// The id of the API key.
    let keyID: String
    /// A prefix of the hash of the key's secret. It tells a new key from an older one with the same id.
    let keyDigest: [UInt8]
    /// The time of log-in in milliseconds since 1970.
    let startedAt: Int64

    init(of key: APIKey, startedAt: Int64) {
        keyID = key.id
        keyDigest = Self.digest(of: key)
        self.startedAt = startedAt
    }

    var endsAt: Int64 { startedAt + Self.milliseconds }

    func hasEnded(at now: WallTime) -> Bool {
        now.milliseconds >= endsAt || startedAt > now.milliseconds + Self.clockSkewMillisecondsMax
    }

    private static func digest(of key: APIKey) -> [UInt8] { Array(key.secretHash.prefix(keyDigestBytes)) }

    /// Returns the access that the session's key has now.
    func access(in catalog: CatalogSnapshot, for role: APIKey.Role, now: WallTime) -> AccessDecision {
        guard let key = catalog.keys[keyID], Self.digest(of: key) == keyDigest else { return .unknown }
        return catalog.access(with: key, for: role, now: now)
    }

    // MARK: Encoding

    private static let version: UInt8 = 1

    var bytes: [UInt8] {
        let time = UInt64(bitPattern: startedAt)
        return [Self.version] + (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * $0)) } + keyDigest
            + Array(keyID.utf8)
    }

    init?(bytes: [UInt8]) {
        let head = 9 + Self.keyDigestBytes
        guard bytes.count > head, bytes[0] == Self.version,
            let id = String(validating: bytes[head...], as: UTF8.self)
        else { return nil }
        keyID = id
        keyDigest = Array(bytes[9..<head])
        startedAt = Int64(bitPattern: bytes[1..<9].reduce(0) { $0 << 8 | UInt64($1) })
    }
}
