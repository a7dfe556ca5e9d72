/// The limits of an `HTTPServer`, with the behavior at each limit.
package struct HTTPLimits: Sendable {
    /// Open connections. Further ones wait in the kernel until one closes.
    package var connectionsMax = 4096
    /// Open connections of one address. Further ones are closed at once.
    package var connectionsPerPeerMax = 1024
    /// Time for the headers, from the connection's start or a later request's first byte. Then the answer is
    /// 408 and the connection closes.
    package var headMilliseconds = 5000
    /// Time in which a body (with its trailers) may come at any rate, from its start and again after each
    /// check of its rate.
    package var bodyGraceMilliseconds = 5000
    /// Bytes per second that must arrive on average in each `bodyGraceMilliseconds`. Otherwise the answer is
    /// 408 and the connection closes.
    package var bodyBytesPerSecondMin = 1024
    /// Time for the whole body at any rate, from the end of the headers. Then the answer is 408 and the
    /// connection closes. A body of 1 MiB needs 17 KiB per second; a small body may come slowly.
    package var bodyMilliseconds = 60_000
    /// Time between two requests. Then the connection closes.
    package var idleMilliseconds = 60_000
    /// Time for a handler to answer. Then the answer is 503, and a later answer of the handler is dropped.
    package var answerMilliseconds = 30_000
    /// Time for a peer to receive an answer. Then the connection closes.
    package var sendMilliseconds = 30_000
    /// Bytes of the request line and headers. Beyond it the answer is 431. libmicrohttpd stores them in a memory of
    /// `connectionMemoryBytes`. If that memory is full, it answers 431 or 414 with its own text.
    package var headBytesMax = 16 * 1024
    /// Header lines. Beyond it the answer is 431.
    package var headersMax = 64
    /// Bytes of path and query. Beyond it the answer is 414.
    package var targetBytesMax = 4096
    /// Bytes of a body, unless its route sets another limit. Beyond it the answer is 413 before the body is
    /// read.
    package var bodyBytesMax = 1 << 20
    /// Bytes of incoming bodies on all connections together. Beyond it the answer is 503.
    package var bodiesBytesMax = 64 << 20
    /// Bytes of an answer that does not count towards `answersBytesMax`.
    static let shortAnswerBytesMax = 16 << 10
    /// Bytes of longer answers on all connections together, until they were sent. Beyond it the answer is 503.
    package var answersBytesMax = 64 << 20
    /// Threads that read requests, run immediate handlers and send answers.
    package var threads = 1

    /// The library's memory for the head and the parsed headers of one connection.
    var connectionMemoryBytes: Int { 2 * max(headBytesMax, 16 * 1024) }

    /// The interval of the deadline checks: an eighth of the shortest time limit, so that no limit is exceeded by more.
    /// But it is never below 10 ms or above 500 ms.
    var watchMilliseconds: Int {
        let shortest = min(
            headMilliseconds, bodyGraceMilliseconds, bodyMilliseconds, idleMilliseconds, answerMilliseconds,
            sendMilliseconds)
        return max(10, min(500, shortest / 8))
    }

    package init() {}
}
