internal import APNs
package import HTTP2

/// The faults that one request provokes: a fault that replaces the correct answer, a delay of the answer, and
/// a fault of the connection.
package struct InjectedFault: Sendable, Hashable {
    /// A fault that replaces the correct answer.
    package enum RequestFault: Sendable, Hashable {
        /// The request gets this answer. `timestamp` is in milliseconds since 1970.
        case answer(status: Int, reason: String, timestamp: Int64?, retryAfterSeconds: Int?)
        /// The request gets exactly this body.
        case answerBody(status: Int, body: [UInt8])
        /// The stream is reset with this code. `processed` means that the push is delivered to the phone
        /// first.
        case reset(HTTP2ErrorCode, processed: Bool)
        /// The request is never answered. `processed` means that the push is delivered to the phone.
        case silence(processed: Bool)
    }

    /// A fault of the whole connection. A `goaway` comes before the answer to the request, the others after
    /// it.
    package enum ConnectionFault: Sendable, Hashable {
        /// GOAWAY whose last stream is the number of this request's stream minus `streamsBack`. Consecutive
        /// streams differ by 2. Streams above the last stream are not processed. `thenClose` closes the
        /// connection when the other answers are sent.
        case goaway(HTTP2ErrorCode, streamsBack: Int, reason: String?, thenClose: Bool)
        /// SETTINGS with this limit on concurrent streams.
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

    /// Nil if the request gets the correct answer.
    package var requestFault: RequestFault?
    /// Delay of the answer.
    package var delayMilliseconds = 0
    package var connectionFault: ConnectionFault?

    package init(
        requestFault: RequestFault? = nil, delayMilliseconds: Int = 0, connectionFault: ConnectionFault? = nil
    ) {
        self.requestFault = requestFault
        self.delayMilliseconds = delayMilliseconds
        self.connectionFault = connectionFault
    }

    package static let none = InjectedFault()
}
