/// What one client may cost. Every limit closes or pauses the connection that meets it, no other.
package struct SessionLimits: Sendable {
    /// A longer request closes its connection.
    package var requestBytesMax = 100 * 1024 * 1024
    /// Produce requests of one connection that wait for the disk together; then it is not read on.
    package var producesInFlightMax = 64
    /// Connections at once; one more is closed when it comes.
    package var connectionsMax = 4_096
    /// Unsent bytes of one connection; above it the next request waits.
    package var outputBytesMax = 1024 * 1024
    /// Memory of the requests that are arriving, on all connections together; above it connections
    /// are not read on.
    package var bufferedBytesMax = 256 * 1024 * 1024
    /// Answers that no client has taken yet, on all connections together; above it a Fetch answer has one
    /// batch only.
    package var unsentBytesMax = 256 * 1024 * 1024
    /// Records in one Fetch answer, whatever the client asks for; one batch is always given whole.
    package var fetchBytesMax = 16 * 1024 * 1024
    /// And their number, by offsets: well-compressed records are small here and large at the client,
    /// which works on the first answer while the next one comes.
    package var fetchRecordsMax: Int64 = 8192
    /// A connection on which nothing arrives or leaves for so long is closed, as Kafka does.
    package var idleSecondsMax = 600
    /// The same in the middle of a request or of an answer.
    package var stallSecondsMax = 60
    /// After so long without a byte a connection gives back the memory of its last large request.
    package var restSeconds = 5.0

    package init() {}
}
