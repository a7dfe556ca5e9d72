internal import CNghttp2

/// Why a session can go on no longer. The connection under it is to be closed and, if there is
/// still work, another opened; nothing of what the peer sent is quoted, because header values are secrets.
package enum SessionFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The peer broke the protocol; this side says so in a GOAWAY with this code.
    case violation(ErrorCode)
    /// The peer's first bytes are no HTTP/2.
    case notHTTP2
    /// The peer asked for more acknowledgements than the limit allows to wait.
    case flooded
    /// The library could not go on: out of memory, or a fault in the library.
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
