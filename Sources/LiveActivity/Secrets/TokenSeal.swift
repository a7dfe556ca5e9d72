package import Cryptography

/// Seals push tokens for topics and state files, opens them where a push leaves, and gives the hash by
/// which everything else knows a token.
///
/// The sealed form is `s<key number>.<base64url>`: AES-256-GCM with the app and the registry entry as
/// authenticated data, so that a sealed token that was moved to another row does not open. The nonce
/// is a keyed hash of the token and that data: a report that says the same again makes the same bytes,
/// and compaction, comparison and compression see that nothing has changed.
///
/// Without keys, tokens travel in the clear as hex digits, and the hash is keyed with a public constant.
/// Owned by one thread.
package final class TokenSeal {
    private let hashing: HMACSHA256
    private let nonces: HMACSHA256?
    private let ciphers: [(number: Int, cipher: AES256GCM)]

    /// Bytes of a token's hash: enough that no two of a billion tokens meet.
    package static let hashBytes = 16

    package init(_ keys: SealingKeys?) {
        guard let keys else {
            hashing = HMACSHA256(key: SecretBytes(Array("flotilla: no sealing keys".utf8)))
            nonces = nil
            ciphers = []
            return
        }
        hashing = HMACSHA256(key: Self.derived(from: keys.hash, for: "token hash"))
        nonces = HMACSHA256(key: Self.derived(from: keys.hash, for: "token nonce"))
        ciphers = keys.seals.map { ($0.number, AES256GCM(key: $0.key)) }
    }

    private static func derived(from key: SecretBytes, for purpose: String) -> SecretBytes {
        SecretBytes(HMACSHA256(key: key).code(for: Array("flotilla \(purpose)".utf8)))
    }

    /// Whether tokens are sealed at all; start-up says so when they are not.
    package var isSealing: Bool { !ciphers.isEmpty }

    /// The token's hash: the same in every process with these keys, and useless without them.
    package func hash(_ token: PushToken) -> [UInt8] {
        Array(hashing.code(for: token.bytes).prefix(Self.hashBytes))
    }

    /// - Parameter entry: the row that the token belongs to, `start:<type>` or `update:<activity>`.
    package func seal(_ token: PushToken, app: String, entry: String) -> String {
        seal(token.bytes, Self.authenticated(app, entry)) ?? String(decoding: token.hex, as: UTF8.self)
    }

    /// A secret of an app that is no token; nil without keys: it must not stand in a topic in the clear.
    ///
    /// - Parameter name: what it is for; no entry of the registry begins like it.
    package func seal(secret: [UInt8], app: String, name: String) -> String? {
        seal(secret, Self.authenticated(app, "secret:" + name))
    }

    private func seal(_ bytes: [UInt8], _ data: [UInt8]) -> String? {
        guard let nonces, let (number, cipher) = ciphers.last else { return nil }
        // A zero byte before the bytes: one nonce must never serve two rows that read alike when joined.
        let nonce = nonces.code(for: Array("\(number) ".utf8) + data + [0] + bytes).prefix(
            AES256GCM.nonceBytes)
        let sealed = cipher.seal(bytes, nonce: Array(nonce), authenticating: data)
        return "s\(number).\(Base64URL.encode(sealed))"
    }

    /// Whether what `seal` made before is what it would make now: with the newest key, or in the clear
    /// where there is none.
    package func isCurrent(_ stored: String) -> Bool {
        guard let newest = ciphers.last?.number else { return stored.utf8.first != UInt8(ascii: "s") }
        return stored.hasPrefix("s\(newest).")
    }

    /// Why a stored token does not open.
    package enum Failure: Error, Equatable, CustomStringConvertible {
        case malformed
        case unknownKey(Int)
        case wrongRow

        package var description: String {
            switch self {
            case .malformed: "the stored token is damaged"
            case .unknownKey(let number):
                "the token is sealed with key \(number), which the sealing keys do not have; add its line again"
            case .wrongRow: "the token does not open: it was sealed for another row, or the keys are others"
            }
        }
    }

    /// Opens what `seal` made. Tokens in the clear are taken too, from before there were keys.
    package func open(_ stored: some StringProtocol, app: String, entry: String) throws(Failure) -> PushToken
    {
        guard stored.utf8.first == UInt8(ascii: "s") else {
            guard let token = PushToken(hex: stored) else { throw .malformed }
            return token
        }
        guard let token = PushToken(bytes: try open(stored, Self.authenticated(app, entry))) else {
            throw .wrongRow
        }
        return token
    }

    /// Opens what `seal(secret:app:name:)` made.
    package func open(secret stored: String, app: String, name: String) throws(Failure) -> SecretBytes {
        guard stored.hasPrefix("s") else { throw .malformed }
        return SecretBytes(try open(stored, Self.authenticated(app, "secret:" + name)))
    }

    private func open(_ stored: some StringProtocol, _ data: [UInt8]) throws(Failure) -> [UInt8] {
        let parts = stored.dropFirst().split(separator: ".", maxSplits: 1)
        guard parts.count == 2, let number = Int(parts[0]), let sealed = Base64URL.decode(String(parts[1]))
        else {
            throw .malformed
        }
        guard let cipher = ciphers.first(where: { $0.number == number })?.cipher else {
            throw .unknownKey(number)
        }
        guard let bytes = cipher.open(sealed, authenticating: data) else { throw .wrongRow }
        return bytes
    }

    /// A zero byte between them: neither can contain one, so no pair can be mistaken for another.
    private static func authenticated(_ app: String, _ entry: String) -> [UInt8] {
        Array(app.utf8) + [0] + Array(entry.utf8)
    }
}
