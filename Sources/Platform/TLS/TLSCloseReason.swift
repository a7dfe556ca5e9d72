package import Lifecycle

/// The reason why a TLS connection ended.
package enum TLSCloseReason: Sendable, CustomStringConvertible {
    /// The owner closed it.
    case closedLocally
    /// The peer closed it. A close alert before that shows that no data is missing.
    case closedByPeer(withCloseAlert: Bool)
    /// TLS failed, in the handshake or later.
    case refused(TLSFailure)
    /// The TCP connection failed or was never established.
    case transport(TCPCloseReason)

    package var description: String {
        switch self {
        case .closedLocally: "connection closed by this process"
        case .closedByPeer(true): "connection closed by the peer"
        case .closedByPeer(false): "connection closed by the peer without a TLS close alert"
        case .refused(let failure): failure.description
        case .transport(let reason): reason.description
        }
    }
}
