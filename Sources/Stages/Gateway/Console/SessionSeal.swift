internal import CatalogRecords
internal import Cryptography
internal import Lifecycle
internal import TokenSealing

/// The conversion between console sessions and the sealed text in the browser's cookie. The server's threads
/// share it.
final class SessionSeal: Sendable {
    /// The app for which sessions are sealed. No app has this id, so an app's secret never opens as a session,
    /// and a session never opens as a secret.
    private static let owner = AuditEntry.everyApp
    private static let purpose = "console session"
    private static let tokenByteCount = 16

    private let seal: TracedLock<TokenSeal>
    /// Whether there are sealing keys. Without them, anyone who can read the catalog could forge a session,
    /// so no sessions exist.
    let canSeal: Bool

    init(keys: SealingKeys?) {
        let seal = TokenSeal(keys: keys)
        canSeal = seal.isSealing
        self.seal = TracedLock(seal)
    }

    /// Returns the value of the cookie for a session, or nil without sealing keys.
    func cookie(for session: ConsoleSession) -> String? {
        seal.withLock { $0.seal(secret: session.bytes, app: Self.owner, name: Self.purpose) }
    }

    /// Returns the session in a cookie, or nil if no gateway with these keys made it.
    func session(in cookie: String) -> ConsoleSession? {
        let secret = seal.withLock { seal in
            try? seal.open(secret: cookie, app: Self.owner, name: Self.purpose)
        }
        guard let secret else { return nil }
        return ConsoleSession(bytes: unsafe secret.withBytes { unsafe Array($0) })
    }

    /// Returns the token that each call must send beside the cookie. A page of another site can make the
    /// browser send the cookie but cannot read it, so it cannot compute the token.
    static func token(for cookie: String) -> String {
        let digest = SHA256.digest(of: Array("flotilla console token ".utf8) + Array(cookie.utf8))
        return Base64URL.encode(Array(digest.prefix(tokenByteCount)))
    }
}
