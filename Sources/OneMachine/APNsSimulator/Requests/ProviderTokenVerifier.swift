internal import APNs
internal import Cryptography
internal import JSON
internal import LiveActivity

/// A provider token with a verified signature.
final class VerifiedProviderToken {
    let token: [UInt8]
    let key: ProviderKey
    /// Seconds since 1970.
    let issuedAt: Int64
    let warning: ProviderTokenWarning?
    private let acceptsProduction: Bool
    private let acceptsSandbox: Bool

    init(token: [UInt8], key: ProviderKey, issuedAt: Int64, warning: ProviderTokenWarning? = nil) {
        self.token = token
        self.key = key
        self.issuedAt = issuedAt
        self.warning = warning
        acceptsProduction = key.environments.contains(.production)
        acceptsSandbox = key.environments.contains(.sandbox)
    }

    func accepts(_ environment: Environment) -> Bool {
        switch environment {
        case .production: acceptsProduction
        case .sandbox: acceptsSandbox
        }
    }
}

/// Checks the `authorization` of requests. A signature is verified once for each token and not for each push.
/// The age is checked each time.
final class ProviderTokenVerifier {
    /// Limit on remembered tokens. At the limit all are forgotten and verified again.
    static let verifiedMax = 10_000
    static let secondsMax: Int64 = 3_600
    /// Seconds that the sender's clock may be ahead.
    static let skewSeconds: Int64 = 300

    private let keys: [String: ProviderKey]
    private let reader: JSONReader
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
    /// - authorization: the header's value, including the scheme.
    ///   - last: the provider of the previous request on this connection, usually the same.
    func verify(authorization: Span<UInt8>, last: VerifiedProviderToken?, at seconds: Int64) -> TokenVerdict {
        let scheme: StaticString = "bearer "
        guard authorization.count > scheme.utf8CodeUnitCount,
            ASCIIText.isEqual(authorization.extracting(first: scheme.utf8CodeUnitCount), ignoringCase: scheme)
        else { return .refused(authorization.isEmpty ? .missingProviderToken : .invalidProviderToken) }
        let token = authorization.extracting(droppingFirst: scheme.utf8CodeUnitCount)
        guard let provider = verifiedToken(token, last: last) else { return .refused(.invalidProviderToken) }
        let age = seconds - provider.issuedAt
        return (-Self.skewSeconds...Self.secondsMax).contains(age)
            ? .valid(provider) : .refused(.expiredProviderToken)
    }

    private func verifiedToken(_ token: Span<UInt8>, last: VerifiedProviderToken?) -> VerifiedProviderToken? {
        if let last, ASCIIText.isEqual(token, to: last.token) { return last }
        let bytes = ASCIIText.array(from: token)
        if let known = verified[bytes] { return known }
        guard let parts = ProviderTokenParts(token, reader: reader), let key = keys[parts.keyID],
            key.teamID == parts.teamID, key.key.isValidSignature(parts.signature, of: parts.signedBytes)
        else { return nil }
        if verified.count >= Self.verifiedMax { verified.removeAll() }
        let provider = VerifiedProviderToken(
            token: bytes, key: key, issuedAt: parts.issuedAt, warning: parts.warning)
        verified[bytes] = provider
        return provider
    }
}
