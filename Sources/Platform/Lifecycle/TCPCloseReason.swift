/// The reason why a TCP connection ended. The connection's owner decides whether it is an error.
package enum TCPCloseReason: Sendable, CustomStringConvertible {
    /// The owner closed it.
    case closedLocally
    /// The peer ended its output (FIN).
    case closedByPeer
    /// The connection broke: reset, timed out or unreachable.
    case broken(SystemError)
    /// The connection was never established.
    case notConnected(String)
    /// More bytes wait to be sent than `TCPOptions.outboundBytesMax` allows.
    case outboundLimitReached(bytes: Int)

    package var description: String {
        switch self {
        case .closedLocally: "connection closed by this process"
        case .closedByPeer: "connection closed by the peer"
        case .broken(let error): error.description
        case .notConnected(let text): text
        case .outboundLimitReached(let bytes):
            "connection ended: \(bytes) bytes wait to be sent and the peer does not read"
        }
    }
}
