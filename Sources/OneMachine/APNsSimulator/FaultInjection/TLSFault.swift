internal import Cryptography
internal import Lifecycle
internal import TLS
internal import Telemetry

/// A fault in a server's TLS. A correct client ends the handshake, reports the fault and sends nothing.
package enum TLSFault: String, Sendable, CaseIterable {
    /// The certificate has expired.
    case expired
    /// The certificate is for another host.
    case wrongHost = "wrong-host"
    /// The certificate is signed by an unknown authority.
    case unknownAuthority = "unknown-authority"
    /// The server negotiates no protocol, and so not HTTP/2.
    case noHTTP2 = "no-h2"
    /// The server answers every client with TLS 1.1.
    case oldTLS = "tls-1.1"

    /// Validity of a certificate that has not expired: the most that Apple's systems accept.
    private static let certificateDays = 825
    private static let dayMilliseconds: Int64 = 86_400_000

    /// Returns a TLS context with the fault, or nil for `oldTLS`, which OpenSSL cannot produce.
    func context(
        authority: CertificateAuthority, names: [String], at time: WallTime
    ) throws(PEMError) -> TLSContext? {
        var authority = authority
        var names = names
        var certificateDays = Self.certificateDays
        var time = time
        switch self {
        case .oldTLS: return nil
        case .noHTTP2: break
        case .expired:
            // The certificate was issued three days ago for two days.
            time = WallTime(milliseconds: time.milliseconds - 3 * Self.dayMilliseconds)
            certificateDays = 2
        case .wrongHost: names = ["wrong-host.invalid"]
        case .unknownAuthority: authority = CertificateAuthority(name: "An unknown authority")
        }
        let identity = authority.issue(for: names, days: certificateDays, at: time)
        return try TLSContext.server(
            chain: .text(identity.chainPEM), key: .text(identity.keyPEM),
            protocols: self == .noHTTP2 ? [] : ["h2"], at: time)
    }
}
