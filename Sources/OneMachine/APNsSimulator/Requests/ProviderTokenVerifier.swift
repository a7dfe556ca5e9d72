internal import APNs
internal import Cryptography
internal import Identifiers
internal import JSON

/// The check of the header field `authorization`, for example `bearer TOKEN`. It verifies the signature of a
/// provider token once, at its first request, and checks the age at each request.
final class ProviderTokenVerifier {
    /// Limit on remembered tokens. At the limit all are forgotten, and each is verified again at its next
    /// request.
    static let rememberedTokensMax = 10_000
    /// Age at which a token expires.
    static let ageSecondsMax: Int64 = 3_600
    /// Seconds by which the sender's clock may be ahead.
    static let clockSkewSeconds: Int64 = 300

    /// The registered keys by id.
    private let keys: [String: ProviderKey]
    private let reader: JSONReader
    /// The remembered tokens, by the token as received.
    private var rememberedTokens: [[UInt8]: VerifiedProviderToken] = [:]

    init(keys: [ProviderKey], reader: JSONReader) {
        self.keys = Dictionary(keys.map { ($0.keyID, $0) }) { first, _ in first }
        self.reader = reader
    }

    /// The result of a check.
    enum TokenVerdict {
        case valid(VerifiedProviderToken)
        case refused(APNsReason)
    }

    /// - Parameters:
    ///   - authorization: the header's value, including the scheme.
    ///   - last: the token of the previous request on this connection, usually the same.
    ///   - seconds: the machine's time in seconds since 1970.
    func verify(authorization: Span<UInt8>, last: VerifiedProviderToken?, at seconds: Int64) -> TokenVerdict {
        if authorization.isEmpty { return .refused(.missingProviderToken) }
        let scheme: StaticString = "bearer "
        guard authorization.count > scheme.utf8CodeUnitCount,
            ASCIIText.isEqual(authorization.extracting(first: scheme.utf8CodeUnitCount), ignoringCase: scheme)
        else { return .refused(.invalidProviderToken) }
        let token = authorization.extracting(droppingFirst: scheme.utf8CodeUnitCount)
        guard let verified = verifiedToken(token, last: last) else { return .refused(.invalidProviderToken) }
        let age = seconds - verified.issuedAt
        return (-Self.clockSkewSeconds...Self.ageSecondsMax).contains(age)
            ? .valid(verified) : .refused(.expiredProviderToken)
    }

    /// Returns the token if a registered key has signed it. Compares it with the last token first, because
    /// that needs no copy of the bytes.
    private func verifiedToken(_ token: Span<UInt8>, last: VerifiedProviderToken?) -> VerifiedProviderToken? {
        if let last, ASCIIText.isEqual(token, to: last.token) { return last }
        let bytes = ASCIIText.array(from: token)
        if let remembered = rememberedTokens[bytes] { return remembered }
        guard let parts = ProviderTokenParts(token, reader: reader), let key = keys[parts.keyID],
            key.teamID == parts.teamID, key.key.isValidSignature(parts.signature, of: parts.signedBytes)
        else { return nil }
        if rememberedTokens.count >= Self.rememberedTokensMax { rememberedTokens.removeAll() }
        let verified = VerifiedProviderToken(
            token: bytes, key: key, issuedAt: parts.issuedAt, warning: parts.warning)
        rememberedTokens[bytes] = verified
        return verified
    }
}
