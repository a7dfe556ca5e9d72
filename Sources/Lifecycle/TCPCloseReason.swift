/// Why a connection is no more. A value: whether that is a fault is its owner's to say.
package enum TCPCloseReason: Sendable, CustomStringConvertible {
    /// The owner closed it.
    case closedHere
    /// The peer ended it in good order.
    case closedByPeer
    /// It broke: reset, timed out, unreachable.
    case broken(SystemError)
    /// It was never there.
    case notConnected(String)
    /// More was sent than `TCPOptions.outboundBytesMax` lets wait.
    case outboundFull(bytes: Int)

    package var description: String {
        switch self {
        case .closedHere: "connection closed by this process"
        case .closedByPeer: "connection closed by the peer"
        case .broken(let error): error.description
        case .notConnected(let text): text
        case .outboundFull(let bytes):
            "connection ended: \(bytes) bytes wait to be sent and the peer does not read"
        }
    }
}
