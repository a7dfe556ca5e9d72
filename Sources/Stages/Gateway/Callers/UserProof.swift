internal import Cryptography
internal import Identifiers

/// A proof, made by the app's own server with a secret of the app, that a phone acts for a user. It has two forms:
///
/// | form | message of the HMAC-SHA256 | valid |
/// |---|---|---|
/// | `HMAC` in hexadecimal | the user's id | on every phone, until the secret is retired |
/// | `SECONDS.HMAC.INSTALLATION` | `SECONDS`, `INSTALLATION` and the user's id, joined by newlines | on one installation, until `SECONDS` since 1970 |
///
/// No name contains a newline, so no message of one form is a message of the other.
enum UserProof {
    case simple(code: [UInt8])
    case expiring(code: [UInt8], expiresAtSeconds: Int64, installation: String)

    private static let codeDigits = 2 * HMACSHA256.codeBytes
    private static let secondsDigitsMax = 12
    private static let separator = UInt8(ascii: ".")

    /// Returns nil for any other text.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard let secondsEnd = bytes.firstIndex(of: Self.separator) else {
            guard let code = Self.code(in: bytes[...]) else { return nil }
            self = .simple(code: code)
            return
        }
        let codeStart = secondsEnd + 1
        let codeEnd = codeStart + Self.codeDigits
        guard secondsEnd <= Self.secondsDigitsMax,
            bytes[..<secondsEnd].allSatisfy({ (0x30...0x39).contains($0) }),
            let seconds = Int64(String(decoding: bytes[..<secondsEnd], as: UTF8.self)),
            codeEnd < bytes.count, bytes[codeEnd] == Self.separator,
            let code = Self.code(in: bytes[codeStart..<codeEnd])
        else { return nil }
        let installation = String(decoding: bytes[(codeEnd + 1)...], as: UTF8.self)
        guard NameRules.problem(installation) == nil else { return nil }
        self = .expiring(code: code, expiresAtSeconds: seconds, installation: installation)
    }

    private static func code(in digits: ArraySlice<UInt8>) -> [UInt8]? {
        guard digits.count == codeDigits else { return nil }
        return Hex.decode(digits)
    }

    var code: [UInt8] {
        switch self {
        case .simple(let code), .expiring(let code, _, _): code
        }
    }

    /// Returns the bytes that the app's server has authenticated.
    func message(for user: String) -> [UInt8] {
        switch self {
        case .simple: Array(user.utf8)
        case .expiring(_, let seconds, let installation): Array("\(seconds)\n\(installation)\n\(user)".utf8)
        }
    }
}
