internal import Cryptography
internal import JSON

/// The parts of a provider token: a JSON Web Token with ES256, `kid` in the header, `iss` and `iat` in the
/// claims. The signature is not verified yet.
struct ProviderTokenParts {
    static let bytesMax = 4_096
    /// Up to the end of the year 9999, so that differences of times cannot overflow.
    static let issuedAtRange = 0...253_402_300_799

    let keyID: String
    let teamID: String
    /// Seconds since 1970.
    let issuedAt: Int64
    /// A property that APNs accepts although Apple's documentation forbids it.
    let doubt: ProviderTokenDoubt?
    let signed: [UInt8]
    let signature: [UInt8]

    /// Parses a token. Returns nil if it is not such a token.
    init?(_ token: Span<UInt8>, _ reader: JSONReader) {
        guard token.count <= Self.bytesMax else { return nil }
        let text = Text.string(token)
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(String(parts[0])),
            let claims = Base64URL.decode(String(parts[1])),
            let signature = Base64URL.decode(String(parts[2])),
            signature.count == 64, let keyID = Self.keyID(header, reader),
            let claims = Self.claims(claims, reader), let issuedAt = claims.issuedAt
        else { return nil }
        self.keyID = keyID
        teamID = claims.teamID
        self.issuedAt = issuedAt.seconds
        doubt = issuedAt.doubt
        self.signature = signature
        signed = Array(text.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
    }

    private static func keyID(_ header: [UInt8], _ reader: JSONReader) -> String? {
        let found = try? reader.read(header) { value -> String? in
            let members = value.object()
            let key = members["kid"].string()
            return members["alg"].string() == "ES256" ? key : nil
        }
        return found ?? nil
    }

    private typealias IssuedAt = (seconds: Int64, doubt: ProviderTokenDoubt?)

    private static func claims(
        _ claims: [UInt8], _ reader: JSONReader
    ) -> (teamID: String, issuedAt: IssuedAt?)? {
        try? reader.read(claims) { value in
            let members = value.object()
            return (members["iss"].string(), issuedAt(members["iat"]))
        }
    }

    /// Returns `iat`. Real senders also sign a fraction (`time.time()`) or a string, and APNs accepts both.
    private static func issuedAt(_ value: JSONValue) -> IssuedAt? {
        switch value.kind {
        case .integer: return (Int64(value.int(in: issuedAtRange)), nil)
        case .number: return seconds(value.double()).map { ($0, .fraction) }
        case .string: return Double(value.string()).flatMap(seconds).map { ($0, .text) }
        default: return nil
        }
    }

    private static func seconds(_ number: Double) -> Int64? {
        guard number >= 0, number < Double(issuedAtRange.upperBound) else { return nil }
        return Int64(number)
    }
}
