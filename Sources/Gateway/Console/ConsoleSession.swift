internal import Catalog
internal import Cryptography
internal import LiveActivity
internal import Telemetry

/// Who works at the console, for as long as one log-in lasts. No gateway keeps any: a session lies sealed in
/// its browser's cookie, and every gateway with the same sealing keys opens it. It is good while its API key is.
struct ConsoleSession: Sendable, Equatable {
    /// From log-in on, whatever happens meanwhile: pages ask all the time, so silence would never end one.
    static let hours = 8
    static let milliseconds = Int64(hours) * 3_600_000
    /// A clock of another gateway may be ahead.
    private static let aheadMillisecondsMax: Int64 = 60_000
    private static let keyMarkBytes = 8

    /// Of the API key.
    let keyID: String
    /// Of its secret's hash: a key that is made anew under an id is another one.
    let keyMark: [UInt8]
    /// Milliseconds since 1970.
    let startedAt: Int64

    init(of key: APIKey, startedAt: Int64) {
        keyID = key.id
        keyMark = Self.mark(of: key)
        self.startedAt = startedAt
    }

    var endsAt: Int64 { startedAt + Self.milliseconds }

    func hasEnded(at now: WallTime) -> Bool {
        now.milliseconds >= endsAt || startedAt > now.milliseconds + Self.aheadMillisecondsMax
    }

    private static func mark(of key: APIKey) -> [UInt8] { Array(key.secretHash.prefix(keyMarkBytes)) }

    /// What its key may do now.
    func access(in catalog: KnownCatalog, for role: APIKey.Role, now: WallTime) -> Access {
        guard let key = catalog.keys[keyID], Self.mark(of: key) == keyMark else { return .unknown }
        return catalog.access(with: key, for: role, now: now)
    }

    // MARK: As bytes

    private static let version: UInt8 = 1

    var bytes: [UInt8] {
        let time = UInt64(bitPattern: startedAt)
        return [Self.version] + (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * $0)) } + keyMark
            + Array(keyID.utf8)
    }

    init?(bytes: [UInt8]) {
        let head = 9 + Self.keyMarkBytes
        guard bytes.count > head, bytes[0] == Self.version,
            let id = String(validating: bytes[head...], as: UTF8.self)
        else { return nil }
        keyID = id
        keyMark = Array(bytes[9..<head])
        startedAt = Int64(bitPattern: bytes[1..<9].reduce(0) { $0 << 8 | UInt64($1) })
    }
}
