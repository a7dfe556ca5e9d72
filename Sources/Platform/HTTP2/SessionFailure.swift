internal import CNghttp2

/// The reason why a session cannot continue. Its owner closes the connection, and opens another one if there
/// is still work. The text quotes nothing that the peer sent, because header values are secret.
package enum SessionFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The peer violated the protocol. This side sends GOAWAY with this code.
    case violation(HTTP2ErrorCode)
    /// The peer's first bytes are not HTTP/2.
    case notHTTP2
    /// More acknowledgements are waiting than the limit allows.
    case flooded
    /// nghttp2 failed with this code, because of memory or a bug.
    case library(Int)

    package var description: String {
        switch self {
        case .violation(let code):
            "the peer broke the HTTP/2 protocol (\(code)); close the connection and open another"
        case .notHTTP2:
            "the peer does not speak HTTP/2; check the port and that both sides agreed on h2"
        case .flooded:
            "the peer sent more PING or SETTINGS frames than may wait for an answer; close the connection"
        case .library(let code):
            "nghttp2 failed with code \(code); close the connection and open another"
        }
    }

    init(library code: Int) {
        switch CInt(truncatingIfNeeded: code) {
        case NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue: self = .notHTTP2
        case NGHTTP2_ERR_FLOODED.rawValue: self = .flooded
        default: self = .library(code)
        }
    }
}
