/// The injected faults of one connection: those that are in effect, and those that act as soon as HTTP/2
/// begins. `ServedConnection+Faults` applies them.
struct ConnectionFaults {
    /// Last stream of the newest GOAWAY, `.max` without one. Streams above it are not processed.
    var goawayLastStream = Int32.max
    /// The highest stream that was answered or processed. A GOAWAY must not go below it.
    var settledStream: Int32 = 0
    private(set) var end = ConnectionEnd.whenFinished

    /// Number of stalls in progress. During a stall nothing is read or sent.
    var stallCount = 0
    /// Faults that were injected when the connection was accepted, and that act when HTTP/2 begins.
    var initialFaults: [InjectedFault.ConnectionFault] = []
    /// Number of bytes that are still sent before the TCP connection is reset. Nil without this fault.
    private(set) var bytesUntilReset: Int?

    /// The moment at which the connection ends, apart from errors of HTTP/2.
    enum ConnectionEnd {
        /// When HTTP/2 says that it is finished, as without a GOAWAY.
        case whenFinished
        /// When all requests are answered, after a GOAWAY that closes the connection.
        case whenAnswered
        /// Never, after a GOAWAY that leaves it open.
        case never
    }

    /// Records a GOAWAY that leaves the connection open, or closes it. After one that closes it, the connection
    /// ends even if others leave it open.
    mutating func recordGoaway(thenClose: Bool) {
        if thenClose {
            end = .whenAnswered
        } else if end == .whenFinished {
            end = .never
        }
    }

    /// Demands a reset after this many more bytes. At least one byte is sent, because the reset follows a
    /// send.
    mutating func reset(afterByteCount byteCount: Int) { bytesUntilReset = max(1, byteCount) }

    /// Returns the number of bytes that may be sent now, at most `byteCount`.
    func sendableBytes(of byteCount: Int) -> Int {
        stallCount > 0 ? 0 : min(byteCount, bytesUntilReset ?? byteCount)
    }

    /// Counts sent bytes. Returns true if they are the last bytes before a scripted reset, which is then due.
    mutating func recordSent(byteCount: Int) -> Bool {
        guard byteCount > 0, let remaining = bytesUntilReset else { return false }
        bytesUntilReset = remaining - byteCount
        return remaining == byteCount
    }
}
