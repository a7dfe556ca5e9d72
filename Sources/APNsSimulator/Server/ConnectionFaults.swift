/// What a connection was made to suffer, or does to its client.
struct ConnectionFaults {
    /// Told in a GOAWAY: what is above it is not processed.
    var lastStream = Int32.max
    /// The highest stream that was answered or processed: no GOAWAY may say that it was not.
    var settledStream: Int32 = 0
    var closesWhenDone = false
    /// A GOAWAY was sent that shall not end the connection.
    var staysOpen = false
    /// Stalls that have not ended.
    var stalls = 0
    /// Those of the connection's beginning that need HTTP/2.
    var first: [Ruling.ConnectionFault] = []
    /// Bytes until the TCP connection is reset.
    private(set) var bytesLeft: Int?

    mutating func reset(afterBytes bytes: Int) { bytesLeft = max(1, bytes) }

    /// How much of so much may be sent now.
    func room(in bytes: Int) -> Int { stalls > 0 ? 0 : min(bytes, bytesLeft ?? bytes) }

    /// True when that was the last byte.
    mutating func sent(_ bytes: Int) -> Bool {
        guard bytes > 0, let left = bytesLeft else { return false }
        bytesLeft = left - bytes
        return left == bytes
    }
}
