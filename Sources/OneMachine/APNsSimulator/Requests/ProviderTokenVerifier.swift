internal import APNs
internal import Cryptography
internal import Identifiers
internal import JSON

/// Checks the header field `authorization` of requests. The signature of a token is verified once, at its
/// first request. The age is checked at each request.
final class ProviderTokenVerifier {
    /// Limit on remembered tokens. At the limit all are forgotten and verified again.
    static let rememberedTokensMax = 10_000
    /// Age at which a token expires.
    static let ageSecondsMax: Int64 = 3_600
    /// Seconds by which the sender's clock may be ahead.
    static let clockSkewSeconds: Int64 = 300

    /// The registered keys by id.
    private let keys: [String: ProviderKey]
    private let reader: JSONReader
    /// The remembered tokens, by the token as received.
    private var verified: [[UInt8]: VerifiedProviderToken] = [:]

    init(keys: [ProviderKey], reader: JSONReader) {
        self.keys = Dictionary(keys.map { ($0.keyID, $0) }) { first, _ in first }
        self.reader = reader
    }

    enum TokenVerdict {
        case valid(VerifiedProviderToken)
        case refused(APNsReason)
    }

    /// - Parameters:
    ///   - authorization: the header's value, including the scheme.
    ///   - last: the token of the previous request on this connection, usually the same.
    ///   - seconds: the machine's time in seconds since 1970.
    func verify(authorization: Span<UInt8>, last: VerifiedProviderToken?, at seconds: Int64) -> TokenVerdict {
        let scheme: StaticString = "bearer "
        guard authorization.count > scheme.utf8CodeUnitCount,
            ASCIIText.isEqual(authorization.extracting(first: scheme.utf8CodeUnitCount), ignoringCase: scheme)
        else { return .refused(authorization.isEmpty ? .missingProviderToken : .invalidProviderToken) }
        let token = authorization.extracting(droppingFirst: scheme.utf8CodeUnitCount)
        guard let verified = verifiedToken(token, last: last) else { return .refused(.invalidProviderToken) }
        let age = seconds - verified.issuedAt
        return (-Self.clockSkewSeconds...Self.ageSecondsMax).contains(age)
            ? .valid(verified) : .refused(.expiredProviderToken)
    }

    private func verifiedToken(_ token: Span<UInt8>, last: VerifiedProviderToken?) -> VerifiedProviderToken? {
        if let last, ASCIIText.isEqual(token, to: last.token) { return last }
        let bytes = ASCIIText.array(from: token)
        if let known = verified[bytes] { return known }
        guard let parts = ProviderTokenParts(token, reader: reader), let key = keys[parts.keyID],
            key.teamID == parts.teamID, key.key.isValidSignature(parts.signature, of: parts.signedBytes)
        else { return nil }
        if verified.count >= Self.rememberedTokensMax { verified.removeAll() }
        let new = VerifiedProviderToken(
            token: bytes, key: key, issuedAt: parts.issuedAt, warning: parts.warning)
        verified[bytes] = new
        return new
    }
}
