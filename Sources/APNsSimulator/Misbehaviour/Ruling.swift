internal import APNs
internal import HTTP2

/// What is done with one request, beside or instead of what APNs would rightly answer.
struct Ruling: Sendable, Hashable {
    /// What happens to the request itself.
    enum Course: Sendable, Hashable {
        /// Judged as APNs judges.
        case judge
        /// Answered with this, whatever it is; `timestamp` in milliseconds since 1970.
        case answer(status: Int, reason: String, timestamp: Int64?, retryAfterSeconds: Int?)
        /// Answered with exactly this body.
        case answerBody(status: Int, body: [UInt8])
        /// RST_STREAM with this code; `processed` says whether the push is delivered to the phone first.
        case reset(ErrorCode, processed: Bool)
        /// Never answered; `processed` says whether the push is delivered to the phone.
        case silence(processed: Bool)
    }

    /// What happens to the connection, after the course is decided.
    enum ConnectionFault: Sendable, Hashable {
        /// GOAWAY whose last stream is this request's stream less `streamsBack` (2 a stream); above it
        /// nothing is processed. `thenClose` closes when the answers of the others have left.
        case goaway(ErrorCode, streamsBack: Int, reason: String?, thenClose: Bool)
        case settings(streamsMax: Int)
        /// Nothing is read or written for so long.
        case stall(milliseconds: Int)
        /// No WINDOW_UPDATE from now on.
        case starveWindows
        /// The TCP connection is reset when so many more bytes of answers have left.
        case resetAfter(bytes: Int)
        /// The TCP connection is closed without a word.
        case close
    }

    var course = Course.judge
    /// How long the answer waits.
    var delayMilliseconds = 0
    var connection: ConnectionFault?

    static let none = Ruling()
}
