/// The limits of connections. A limit closes or pauses the connection that reaches it, and no other.
package struct SessionLimits: Sendable {
    /// A longer request closes its connection.
    package var requestBytesMax = 100 * 1024 * 1024
    /// Produce requests of one connection that wait for the disk. At the limit the connection is not
    /// read.
    package var producesInFlightMax = 64
    /// Open connections. A further one is closed at once.
    package var connectionsMax = 4_096
    /// Unsent bytes of one connection. Above the limit the next request waits.
    package var outputBytesMax = 1024 * 1024
    /// Memory of incomplete requests on all connections. Above the limit connections are not read.
    package var bufferedBytesMax = 256 * 1024 * 1024
    /// Unsent bytes on all connections. Above the limit a Fetch answer has one batch only.
    package var unsentBytesMax = 256 * 1024 * 1024
    /// Bytes of one Fetch answer, even if the client asks for more. One batch is always given whole.
    package var fetchBytesMax = 16 * 1024 * 1024
    /// Records of one Fetch answer. Compressed records are small here and large at the client. With a limit,
    /// the client works on one answer while it waits for the next.
    package var fetchRecordsMax: Int64 = 8192
    /// A connection without traffic for this time is closed, as on Kafka.
    package var idleSecondsMax = 600
    /// A connection without traffic within a request or an answer is closed after this time.
    package var stallSecondsMax = 60
    /// After this time without traffic, a connection releases the memory of its last large request.
    package var restSeconds = 5.0

    package init() {}
}
