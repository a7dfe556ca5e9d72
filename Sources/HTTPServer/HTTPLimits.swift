/// What a listener grants its peers. Each limit says what happens beyond it.
package struct HTTPLimits: Sendable {
    /// Open connections; further ones wait in the kernel until one closes.
    package var connectionsMax = 4096
    /// Open connections of one address; further ones are closed at once.
    package var connectionsPerPeerMax = 1024
    /// From a connection's first moment, or a later request's first byte, to the end of its headers;
    /// then 408 and the connection closes.
    package var headMilliseconds = 5000
    /// How long a body, trailers included, may come as slowly as it likes, from its start and again
    /// after each look at its rate.
    package var bodyGraceMilliseconds = 5000
    /// What it must have brought per second in that time; otherwise 408 and the connection closes.
    package var bodyBytesPerSecondMin = 1024
    /// From the end of the headers to the end of the body, however steadily it comes; then 408 and the
    /// connection closes. A body of 1 MiB must bring 17 KiB a second, a small one may come slowly.
    package var bodyMilliseconds = 60_000
    /// Between two requests; then the connection closes.
    package var idleMilliseconds = 60_000
    /// For a handler to answer; then 503, and what it answers later goes nowhere.
    package var answerMilliseconds = 30_000
    /// For a peer to take an answer; then the connection closes.
    package var sendMilliseconds = 30_000
    /// Bytes of the request line and headers; beyond it 431. libmicrohttpd keeps them in
    /// `connectionMemoryBytes`, and beyond that answers 431 or 414 in its own words.
    package var headBytesMax = 16 * 1024
    /// Header lines; beyond it 431.
    package var headersMax = 64
    /// Bytes of the path and query; beyond it 414.
    package var targetBytesMax = 4096
    /// Bytes of a body, unless its route says otherwise; beyond it 413 before they are read.
    package var bodyBytesMax = 1 << 20
    /// Bytes of the bodies that are on their way in, for all connections together; beyond it 503.
    package var bodiesBytesMax = 64 << 20
    /// Threads that read requests, answer immediate ones and send.
    package var threads = 1

    var connectionMemoryBytes: Int { 2 * max(headBytesMax, 16 * 1024) }

    /// How often deadlines are looked at: often enough that none is missed by more than an eighth.
    var watchMilliseconds: Int {
        let shortest = min(
            headMilliseconds, bodyGraceMilliseconds, bodyMilliseconds, idleMilliseconds, answerMilliseconds)
        return max(10, min(500, shortest / 8))
    }

    package init() {}
}
