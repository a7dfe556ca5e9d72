internal import JSON
internal import TLS

/// A provider token taken apart: a JSON Web Token with ES256, `kid` in the header, `iss` and a numeric
/// `iat` in the claims. Nothing is verified yet.
struct ProviderTokenParts {
    static let bytesMax = 4_096
    /// To the end of the year 9999: nobody has to fear the difference of two times.
    static let issuedAtRange = 0...253_402_300_799

    let keyID: String
    let teamID: String
    /// Seconds since 1970.
    let issuedAt: Int64
    let signed: [UInt8]
    let signature: [UInt8]

    /// Nil for what is no such token.
    init?(_ token: Span<UInt8>, _ reader: JSONReader) {
        guard token.count <= Self.bytesMax else { return nil }
        let text = Text.string(token)
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(String(parts[0])),
            let claims = Base64URL.decode(String(parts[1])),
            let signature = Base64URL.decode(String(parts[2])),
            signature.count == 64, let keyID = Self.keyID(header, reader),
            let (teamID, issuedAt) = Self.claims(claims, reader)
        else { return nil }
        self.keyID = keyID
        self.teamID = teamID
        self.issuedAt = issuedAt
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

    private static func claims(_ claims: [UInt8], _ reader: JSONReader) -> (String, Int64)? {
        try? reader.read(claims) { value in
            let members = value.object()
            return (members["iss"].string(), Int64(members["iat"].int(in: issuedAtRange)))
        }
    }
}
