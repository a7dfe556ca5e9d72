/// The reason that a connection ended. It is a value: its owner decides whether it is a fault.
package enum TCPCloseReason: Sendable, CustomStringConvertible {
    /// The owner closed it.
    case closedHere
    /// The peer closed it properly.
    case closedByPeer
    /// The connection broke: reset, timed out or unreachable.
    case broken(SystemError)
    /// The connection was never established.
    case notConnected(String)
    /// More bytes wait to be sent than `TCPOptions.outboundBytesMax` allows.
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
