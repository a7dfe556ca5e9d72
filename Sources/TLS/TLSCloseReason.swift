package import Lifecycle

/// Why a TLS connection is no more.
package enum TLSCloseReason: Sendable, CustomStringConvertible {
    /// The owner closed it.
    case closedHere
    /// The peer ended it; in good order when it said so within TLS and did not just hang up.
    case closedByPeer(inGoodOrder: Bool)
    /// TLS failed, at the beginning or in between.
    case refused(TLSFailure)
    /// The connection below failed or never came to be.
    case transport(TCPCloseReason)

    package var description: String {
        switch self {
        case .closedHere: "connection closed by this process"
        case .closedByPeer(true): "connection closed by the peer"
        case .closedByPeer(false): "connection closed by the peer without a word"
        case .refused(let failure): failure.description
        case .transport(let reason): reason.description
        }
    }
}
