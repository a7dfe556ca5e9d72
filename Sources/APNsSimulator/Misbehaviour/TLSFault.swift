internal import Cryptography
internal import Lifecycle
internal import TLS
internal import Telemetry

/// A way in which a server's TLS can be wrong; a good client says so and sends nothing.
package enum TLSFault: String, Sendable, CaseIterable {
    /// The certificate ended yesterday.
    case expired
    /// The certificate is for another host.
    case wrongHost = "wrong-host"
    /// The certificate is signed by an authority that nobody knows.
    case unknownAuthority = "unknown-authority"
    /// The server agrees on no protocol, and so not on HTTP/2.
    case noHTTP2 = "no-h2"
    /// The server answers every client in TLS 1.1.
    case oldTLS = "tls-1.1"

    /// Nil for the one that is no TLS of today's.
    func context(
        _ authority: CertificateAuthority, names: [String], at time: WallTime
    ) throws(PEMError) -> TLSContext? {
        var authority = authority
        var names = names
        var days = 825
        var time = time
        switch self {
        case .oldTLS: return nil
        case .noHTTP2: break
        case .expired:
            time = WallTime(milliseconds: time.milliseconds - 3 * 86_400_000)
            days = 2
        case .wrongHost: names = ["wrong-host.invalid"]
        case .unknownAuthority: authority = CertificateAuthority(name: "An authority that nobody knows")
        }
        let identity = authority.issue(for: names, days: days, at: time)
        return try TLSContext.server(
            chain: .text(identity.chainPEM), key: .text(identity.keyPEM),
            protocols: self == .noHTTP2 ? [] : ["h2"], at: time)
    }
}
