internal import Cryptography
internal import Lifecycle
internal import LiveActivity

/// Makes cookies of sessions and sessions of cookies.
final class SessionSeal: Sendable {
    private let seal: TracedLock<TokenSeal>
    /// Without keys anybody who can read the catalogue could make sessions: then there are none.
    let canSeal: Bool
    /// No app has this id, so no secret of an app opens as a session, nor the other way round.
    private static let owner = AuditEntry.everyApp
    private static let purpose = "console session"
    private static let tokenBytes = 16

    init(_ keys: SealingKeys?) {
        let seal = TokenSeal(keys)
        canSeal = seal.isSealing
        self.seal = TracedLock(seal)
    }

    func cookie(for session: ConsoleSession) -> String? {
        seal.withLock { $0.seal(secret: session.bytes, app: Self.owner, name: Self.purpose) }
    }

    /// Nil for what no gateway with these keys has made.
    func session(in cookie: String) -> ConsoleSession? {
        let secret = seal.withLock { seal in
            try? seal.open(secret: cookie, app: Self.owner, name: Self.purpose)
        }
        return secret.flatMap { secret in ConsoleSession(bytes: unsafe secret.withBytes { unsafe Array($0) })
        }
    }

    /// What every call by the cookie must bring beside it: who knows the cookie can tell it, and a page of
    /// another site, whose browser would send the cookie without showing it, cannot.
    static func token(for cookie: String) -> String {
        Base64URL.encode(
            Array(
                SHA256.digest(Array("flotilla console token ".utf8) + Array(cookie.utf8)).prefix(tokenBytes)))
    }
}
