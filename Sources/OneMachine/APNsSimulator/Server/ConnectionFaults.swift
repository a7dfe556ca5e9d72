/// The faults of one connection.
struct ConnectionFaults {
    /// Last stream of a GOAWAY. Streams above it are not processed.
    var lastStream = Int32.max
    /// The highest stream that was answered or processed. A GOAWAY must not go below it.
    var settledStream: Int32 = 0
    var closesWhenDone = false
    /// Whether a GOAWAY was sent that must not end the connection.
    var staysOpen = false
    /// Number of stalls in progress.
    var stalls = 0
    /// Faults from the start of the connection that need HTTP/2.
    var initialFaults: [InjectedFault.ConnectionFault] = []
    /// Bytes until the TCP connection is reset.
    private(set) var bytesLeft: Int?

    mutating func reset(afterBytes bytes: Int) { bytesLeft = max(1, bytes) }

    /// Returns how many of `bytes` may be sent now.
    func sendableBytes(of bytes: Int) -> Int { stalls > 0 ? 0 : min(bytes, bytesLeft ?? bytes) }

    /// Counts sent bytes. Returns true if these were the last.
    mutating func recordSent(bytes: Int) -> Bool {
        guard bytes > 0, let left = bytesLeft else { return false }
        bytesLeft = left - bytes
        return left == bytes
    }
}
