internal import Cryptography
internal import JSON

/// The parts of a provider token: a JSON Web Token (RFC 7519) with the algorithm ES256. It has the form
/// `header.claims.signature`, each part in Base64URL, with a header such as
/// `{"alg": "ES256", "kid": "ABC1234567"}` and claims such as `{"iss": "TEAM123456", "iat": 1767225600}`.
/// `ProviderTokenVerifier` verifies the signature.
struct ProviderTokenParts {
    /// Limit on a token. A real one has about 200 bytes.
    static let bytesMax = 4_096
    /// Up to the end of the year 9999, so that differences of times cannot overflow.
    static let issuedAtRange = 0...253_402_300_799
    /// Size of an ES256 signature: two numbers of 32 bytes.
    private static let signatureBytes = 64

    /// The header's `kid`.
    let keyID: String
    /// The claim `iss`.
    let teamID: String
    /// The claim `iat`, in seconds since 1970.
    let issuedAt: Int64
    /// A property of `iat` that APNs accepts although Apple's documentation forbids it.
    let warning: ProviderTokenWarning?
    /// Header and claims with the dot between them, as received.
    let signedBytes: [UInt8]
    let signature: [UInt8]

    /// Parses a token. Returns nil for any other text.
    init?(_ token: Span<UInt8>, reader: JSONReader) {
        guard token.count <= Self.bytesMax else { return nil }
        let text = ASCIIText.string(from: token)
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(String(parts[0])),
            let claimsJSON = Base64URL.decode(String(parts[1])),
            let signature = Base64URL.decode(String(parts[2])), signature.count == Self.signatureBytes
        else { return nil }
        guard let keyID = Self.keyID(inHeader: header, reader: reader),
            let claims = Self.claims(in: claimsJSON, reader: reader), let issuedAt = claims.issuedAt
        else { return nil }
        self.keyID = keyID
        teamID = claims.teamID
        self.issuedAt = issuedAt.seconds
        warning = issuedAt.warning
        self.signature = signature
        signedBytes = Array(text.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
    }

    /// Returns the header's `kid`, or nil if the header is not JSON or names another algorithm.
    private static func keyID(inHeader header: [UInt8], reader: JSONReader) -> String? {
        let keyID = try? reader.read(header) { value -> String? in
            let members = value.object()
            let keyID = members["kid"].string()
            return members["alg"].string() == "ES256" ? keyID : nil
        }
        // Joins the two levels of optionals: no JSON, and no key id.
        return keyID ?? nil
    }

    private struct Claims {
        let teamID: String
        /// Nil for an invalid `iat`.
        let issuedAt: IssueTime?
    }

    /// The claim `iat`, in seconds since 1970, with the warning that its form deserves.
    private struct IssueTime {
        let seconds: Int64
        let warning: ProviderTokenWarning?
    }

    /// Returns the claims `iss` and `iat`, or nil if they are not JSON or have no `iss`.
    private static func claims(in claims: [UInt8], reader: JSONReader) -> Claims? {
        try? reader.read(claims) { value in
            let members = value.object()
            return Claims(teamID: members["iss"].string(), issuedAt: issuedAt(from: members["iat"]))
        }
    }

    /// Returns `iat`. Real senders also sign a fraction (`time.time()`) or a string, and APNs accepts both.
    private static func issuedAt(from value: JSONValue) -> IssueTime? {
        switch value.kind {
        case .integer: return IssueTime(seconds: Int64(value.int(in: issuedAtRange)), warning: nil)
        case .number: return issueTime(at: value.double(), warning: .issuedAtIsFractional)
        case .string: return Double(value.string()).flatMap { issueTime(at: $0, warning: .issuedAtIsText) }
        default: return nil
        }
    }

    /// Returns the time in whole seconds, or nil for a number outside of `issuedAtRange`.
    private static func issueTime(at seconds: Double, warning: ProviderTokenWarning) -> IssueTime? {
        guard seconds >= 0, seconds < Double(issuedAtRange.upperBound) else { return nil }
        return IssueTime(seconds: Int64(seconds), warning: warning)
    }
}
