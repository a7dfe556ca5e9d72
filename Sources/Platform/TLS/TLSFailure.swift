/// The reason why TLS with a peer failed. Each text names the peer, the problem and the remedy.
package enum TLSFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The certificate is for another host.
    case wrongHost(peer: String, certificateNames: [String])
    case expired(peer: String, date: String)
    case notYetValid(peer: String, date: String)
    /// The certificate is not signed by a trusted CA.
    case unknownAuthority(peer: String, issuer: String)
    /// The certificate has another problem.
    case badCertificate(peer: String, reason: String)
    /// The peers have no application protocol in common.
    case noCommonProtocol(peer: String, offered: [String])
    /// The peer's first byte is not TLS.
    case plainText(peer: String)
    case unsupportedVersion(peer: String)
    /// The handshake failed for another reason.
    case handshake(peer: String, reason: String)
    case handshakeTimeout(peer: String, milliseconds: Int)
    case endedInHandshake(peer: String)
    /// A record after the handshake could not be decrypted or encrypted.
    case brokenRecord(peer: String, reason: String)

    package var description: String {
        switch self {
        case .wrongHost(let peer, let names):
            "certificate of \(peer) is for \(joined(names)): the host name is wrong, or another server answers"
        case .expired(let peer, let date):
            "certificate of \(peer) expired on \(date): its operator must renew it, or this machine's clock is wrong"
        case .notYetValid(let peer, let date):
            "certificate of \(peer) is not valid before \(date): check this machine's clock"
        case .unknownAuthority(let peer, let issuer):
            "certificate of \(peer) is not signed by a known CA (its issuer is \(issuer)): give that authority's "
                + "certificate as a file, or install ca-certificates"
        case .badCertificate(let peer, let reason):
            "certificate of \(peer) is refused: \(reason)"
        case .noCommonProtocol(let peer, let offered):
            "\(peer) does not speak \(joined(offered)): ALPN agreed on no protocol; check host and port"
        case .plainText(let peer):
            "\(peer) speaks plain text where TLS is expected; check the port"
        case .unsupportedVersion(let peer):
            "\(peer) speaks only TLS 1.1 or older: TLS 1.2 or newer is required"
        case .handshake(let peer, let reason):
            "TLS handshake with \(peer) failed: \(reason)"
        case .handshakeTimeout(let peer, let milliseconds):
            "TLS handshake with \(peer) was not finished within \(milliseconds) ms; check that the port speaks TLS"
        case .endedInHandshake(let peer):
            "\(peer) ended the connection during the TLS handshake; check that the port speaks TLS"
        case .brokenRecord(let peer, let reason):
            "TLS with \(peer) is broken: \(reason)"
        }
    }

    private func joined(_ names: [String]) -> String {
        names.isEmpty ? "no name" : names.joined(separator: ", ")
    }
}
