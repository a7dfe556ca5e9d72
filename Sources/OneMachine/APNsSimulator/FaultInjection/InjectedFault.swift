internal import APNs
internal import HTTP2

/// The faults for one request, in addition to or instead of the correct answer of APNs.
struct InjectedFault: Sendable, Hashable {
    /// The treatment of the request itself.
    enum RequestFault: Sendable, Hashable {
        /// The request is judged like APNs would.
        case none
        /// The request gets this answer. `timestamp` is in milliseconds since 1970.
        case answer(status: Int, reason: String, timestamp: Int64?, retryAfterSeconds: Int?)
        /// The request gets exactly this body.
        case answerBody(status: Int, body: [UInt8])
        /// RST_STREAM with this code. `processed` means that the push is delivered to the phone first.
        case reset(HTTP2ErrorCode, processed: Bool)
        /// The request is never answered. `processed` means that the push is delivered to the phone.
        case silence(processed: Bool)
    }

    /// A fault of the connection, injected after the course is decided.
    enum ConnectionFault: Sendable, Hashable {
        /// GOAWAY whose last stream is this request's stream minus `streamsBack` (2 for each stream). Streams
        /// above it are not processed. `thenClose` closes the connection when the other answers are sent.
        case goaway(HTTP2ErrorCode, streamsBack: Int, reason: String?, thenClose: Bool)
        case settings(streamsMax: Int)
        /// Nothing is read or written for this time.
        case stall(milliseconds: Int)
        /// No more WINDOW_UPDATE is sent.
        case starveWindows
        /// The TCP connection is reset after this many more bytes of answers.
        case resetAfter(bytes: Int)
        /// The TCP connection is closed without GOAWAY or a TLS close alert.
        case close
    }

    var requestFault = RequestFault.none
    /// Delay of the answer.
    var delayMilliseconds = 0
    var connectionFault: ConnectionFault?

    static let none = InjectedFault()
}
