internal import Catalog
internal import CatalogRecords
internal import Cryptography
internal import Telemetry

/// A log-in to the console with an API key. No gateway stores it: the browser's cookie has it in sealed form,
/// and every gateway with the same sealing keys can open it. It is valid only as long as its API key.
struct ConsoleSession: Sendable, Equatable {
    /// The lifetime from log-in. Activity does not extend it, because pages poll all the time and would never
    /// expire.
    static let lifetimeHours = 8
    static let lifetimeMilliseconds = Int64(lifetimeHours) * 3_600_000
    /// The most by which the clock of the gateway that made the session may be ahead of this gateway's clock.
    private static let clockSkewMillisecondsMax: Int64 = 60_000
    private static let keyDigestByteCount = 8

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

    var endsAt: Int64 { startedAt + Self.lifetimeMilliseconds }

    /// Whether the session is over, or starts in the future because a gateway's clock was wrong.
    func hasEnded(at now: WallTime) -> Bool {
        now.milliseconds >= endsAt || startedAt > now.milliseconds + Self.clockSkewMillisecondsMax
    }

    private static func digest(of key: APIKey) -> [UInt8] { Array(key.secretHash.prefix(keyDigestByteCount)) }

    /// Returns the access that the session's key has now.
    func access(in catalog: CatalogSnapshot, for role: APIKey.Role, now: WallTime) -> AccessDecision {
        guard let key = catalog.keys[keyID], Self.digest(of: key) == keyDigest else { return .unknown }
        return catalog.access(with: key, for: role, now: now)
    }

    // MARK: Encoding

    private static let formatVersion: UInt8 = 1
    private static let timeRange = 1..<9
    private static let keyDigestRange = 9..<9 + keyDigestByteCount

    /// The session in binary form, which `SessionSeal` seals: the format version in one byte, the time of
    /// log-in in eight (big-endian), the digest of the key, and the key's id in UTF-8.
    var bytes: [UInt8] {
        let time = UInt64(bitPattern: startedAt)
        let timeBytes = (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * $0)) }
        return [Self.formatVersion] + timeBytes + keyDigest + Array(keyID.utf8)
    }

    init?(bytes: [UInt8]) {
        let keyIDStart = Self.keyDigestRange.upperBound
        guard bytes.count > keyIDStart, bytes[0] == Self.formatVersion,
            let keyID = String(validating: bytes[keyIDStart...], as: UTF8.self)
        else { return nil }
        self.keyID = keyID
        keyDigest = Array(bytes[Self.keyDigestRange])
        startedAt = Int64(bitPattern: bytes[Self.timeRange].reduce(0) { $0 << 8 | UInt64($1) })
    }
}
