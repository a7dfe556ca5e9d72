internal import APNs
internal import Cryptography
internal import JSON
internal import LiveActivity

/// A provider token with a verified signature.
final class Provider {
    let token: [UInt8]
    let key: ProviderKey
    /// Seconds since 1970.
    let issuedAt: Int64
    let doubt: ProviderTokenDoubt?
    private let takesProduction: Bool
    private let takesSandbox: Bool

    init(token: [UInt8], key: ProviderKey, issuedAt: Int64, doubt: ProviderTokenDoubt? = nil) {
        self.token = token
        self.key = key
        self.issuedAt = issuedAt
        self.doubt = doubt
        takesProduction = key.environments.contains(.production)
        takesSandbox = key.environments.contains(.sandbox)
    }

    func takes(_ environment: Environment) -> Bool {
        switch environment {
        case .production: takesProduction
        case .sandbox: takesSandbox
        }
    }
}

/// Checks the `authorization` of requests. A signature is verified once for each token and not for each push.
/// The age is checked each time.
final class ProviderTokens {
    /// Limit on remembered tokens. At the limit all are forgotten and verified again.
    static let verifiedMax = 10_000
    static let secondsMax: Int64 = 3_600
    /// Seconds that the sender's clock may be ahead.
    static let skewSeconds: Int64 = 300

    private let keys: [String: ProviderKey]
    private let reader: JSONReader
    private var verified: [[UInt8]: Provider] = [:]

    init(_ keys: [ProviderKey], _ reader: JSONReader) {
        self.keys = Dictionary(keys.map { ($0.keyID, $0) }) { first, _ in first }
        self.reader = reader
    }

    enum Verdict {
        case good(Provider)
        case refused(Reason)
    }

    /// - Parameters:
    /// - authorization: the header's value, including the scheme.
    ///   - last: the provider of the previous request on this connection, usually the same.
    func judge(_ authorization: Span<UInt8>, last: Provider?, at seconds: Int64) -> Verdict {
        let scheme: StaticString = "bearer "
        guard authorization.count > scheme.utf8CodeUnitCount,
            Text.equalIgnoringCase(authorization.extracting(first: scheme.utf8CodeUnitCount), scheme)
        else { return .refused(authorization.isEmpty ? .missingProviderToken : .invalidProviderToken) }
        let token = authorization.extracting(droppingFirst: scheme.utf8CodeUnitCount)
        guard let provider = provider(token, last) else { return .refused(.invalidProviderToken) }
        let age = seconds - provider.issuedAt
        return (-Self.skewSeconds...Self.secondsMax).contains(age)
            ? .good(provider) : .refused(.expiredProviderToken)
    }

    private func provider(_ token: Span<UInt8>, _ last: Provider?) -> Provider? {
        if let last, Text.equal(token, last.token) { return last }
        let bytes = Text.array(token)
        if let known = verified[bytes] { return known }
        guard let parts = ProviderTokenParts(token, reader), let key = keys[parts.keyID],
            key.teamID == parts.teamID, key.key.verifies(parts.signature, of: parts.signed)
        else { return nil }
        if verified.count >= Self.verifiedMax { verified.removeAll() }
        let provider = Provider(token: bytes, key: key, issuedAt: parts.issuedAt, doubt: parts.doubt)
        verified[bytes] = provider
        return provider
    }
}
