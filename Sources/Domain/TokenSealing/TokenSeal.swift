package import Cryptography
package import Identifiers

/// The seal of push tokens: it seals them for topics and state files, opens them before a push, and computes the hash
/// that identifies a token everywhere else.
///
/// A sealed token has the form `s<key number>.<base64url>`, for example `s2.pq0Z…`. It is encrypted by
/// AES-256-GCM with the app and the registry entry as authenticated data. So a sealed token that was moved to
/// another row does not open. The nonce is a keyed hash of the token and that data. So a repeated report has
/// the same bytes, and compaction, comparison and compression see no change.
///
/// Without keys, tokens are stored as plain hexadecimal digits, and the key of the hash is a public constant.
/// One thread owns an instance.
package final class TokenSeal {
    private let tokenHasher: HMACSHA256
    private let nonceHasher: HMACSHA256?
    /// The ciphers of the numbered keys, the newest one last. Empty without keys.
    private let ciphers: [(number: Int, cipher: AES256GCM)]

    /// The first byte of a sealed token.
    static let sealedPrefix = UInt8(ascii: "s")

    /// The length of a token's hash in bytes: enough to avoid collisions among a billion tokens.
    package static let hashBytes = 16

    package init(keys: SealingKeys?) {
        guard let keys else {
            tokenHasher = HMACSHA256(key: SecretBytes(copying: Array("flotilla: no sealing keys".utf8)))
            nonceHasher = nil
            ciphers = []
            return
        }
        tokenHasher = HMACSHA256(key: Self.derivedKey(from: keys.hashKey, for: "token hash"))
        nonceHasher = HMACSHA256(key: Self.derivedKey(from: keys.hashKey, for: "token nonce"))
        ciphers = keys.numberedKeys.map { ($0.number, AES256GCM(key: $0.key)) }
    }

    private static func derivedKey(from key: SecretBytes, for purpose: String) -> SecretBytes {
        SecretBytes(copying: HMACSHA256(key: key).authenticationCode(for: Array("flotilla \(purpose)".utf8)))
    }

    /// Whether tokens are sealed. The process logs a warning at its start if they are not.
    package var isSealing: Bool { !ciphers.isEmpty }

    /// Returns the token's hash. It is the same in every process with these keys, and useless without them.
    package func hash(of token: PushToken) -> [UInt8] {
        Array(tokenHasher.authenticationCode(for: token.bytes).prefix(Self.hashBytes))
    }

    /// Returns the sealed token, or its plain digits if there are no keys.
    ///
    /// - Parameter entry: the row that the token belongs to, `start:<type>` or `update:<activity>`.
    package func seal(_ token: PushToken, app: String, entry: String) -> String {
        seal(token.bytes, authenticating: Self.authenticatedData(app: app, entry: entry))
            ?? String(decoding: token.hex, as: UTF8.self)
    }

    /// Seals an app's secret that is not a token. Returns nil without keys, because such a secret must not be
    /// stored in plain text.
    ///
    /// - Parameter name: the purpose of the secret. The prefix "secret:" separates it from all registry
    ///   entries.
    package func seal(secret: [UInt8], app: String, name: String) -> String? {
        seal(secret, authenticating: Self.authenticatedData(app: app, entry: "secret:" + name))
    }

    private func seal(_ bytes: [UInt8], authenticating data: [UInt8]) -> String? {
        guard let nonceHasher, let (number, cipher) = ciphers.last else { return nil }
        // The zero byte separates data and token, so that two rows with the same concatenation never share a
        // nonce.
        let nonce = nonceHasher.authenticationCode(for: Array("\(number) ".utf8) + data + [0] + bytes).prefix(
            AES256GCM.nonceBytes)
        let sealed = cipher.seal(bytes, nonce: Array(nonce), authenticating: data)
        return "s\(number).\(Base64URL.encode(sealed))"
    }

    /// Whether a stored token has the form that `seal` gives now: sealed with the newest key, or plain if
    /// there are no keys.
    package func isCurrent(_ stored: String) -> Bool {
        guard let newest = ciphers.last?.number else { return stored.utf8.first != Self.sealedPrefix }
        return stored.hasPrefix("s\(newest).")
    }

    /// The reason why a stored token does not open.
    package enum Failure: Error, Equatable, CustomStringConvertible {
        case malformed
        /// The token is sealed with this key number, and the process has no such key.
        case unknownKey(Int)
        /// The token was sealed for another row, or with other keys. AES-GCM does not distinguish these.
        case sealedForAnotherRow

        package var description: String {
            switch self {
            case .malformed: "the stored token is damaged"
            case .unknownKey(let number):
                "the token is sealed with key \(number), which the sealing keys do not have; add its line again"
            case .sealedForAnotherRow:
                "the token does not open: it was sealed for another row or with other keys"
            }
        }
    }

    /// Opens a token that `seal(_:app:entry:)` made. Plain tokens from before the installation had keys are
    /// accepted too.
    package func open(_ stored: some StringProtocol, app: String, entry: String) throws(Failure) -> PushToken
    {
        guard stored.utf8.first == Self.sealedPrefix else {
            guard let token = PushToken(hex: stored) else { throw .malformed }
            return token
        }
        guard
            let token = PushToken(
                bytes: try open(stored, authenticating: Self.authenticatedData(app: app, entry: entry)))
        else {
            throw .sealedForAnotherRow
        }
        return token
    }

    /// Opens a secret that `seal(secret:app:name:)` made.
    package func open(secret stored: String, app: String, name: String) throws(Failure) -> SecretBytes {
        guard stored.hasPrefix("s") else { throw .malformed }
        return SecretBytes(
            copying: try open(
                stored, authenticating: Self.authenticatedData(app: app, entry: "secret:" + name)))
    }

    private func open(_ stored: some StringProtocol, authenticating data: [UInt8]) throws(Failure) -> [UInt8]
    {
        let parts = stored.dropFirst().split(separator: ".", maxSplits: 1)
        guard parts.count == 2, let number = Int(parts[0]), let sealed = Base64URL.decode(String(parts[1]))
        else {
            throw .malformed
        }
        guard let cipher = ciphers.first(where: { $0.number == number })?.cipher else {
            throw .unknownKey(number)
        }
        guard let bytes = cipher.open(sealed, authenticating: data) else { throw .sealedForAnotherRow }
        return bytes
    }

    /// Returns both texts with a zero byte between them. Neither can contain one, so two pairs never give the
    /// same bytes.
    private static func authenticatedData(app: String, entry: String) -> [UInt8] {
        Array(app.utf8) + [0] + Array(entry.utf8)
    }
}
