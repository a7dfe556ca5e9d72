package import Lifecycle

/// One connection to an HTTP/1.1 server, with one request at a time. Confined to its loop.
package final class HTTPLink: TCPConnectionDelegate {
    package struct Request {
        package var method: String
        /// The path with the query.
        package var path: String
        /// The API key. An empty string sends none.
        package var key: String
        /// The idempotency key, so that the server carries out a repeated request once. An empty string sends
        /// none.
        package var idempotencyKey = ""
        package var body: [UInt8]

        package init(_ method: String, _ path: String, key: String = "", body: [UInt8] = []) {
            self.method = method
            self.path = path
            self.key = key
            self.body = body
        }
    }

    package enum Outcome: Sendable {
        case answered(HTTPAnswer)
        case failed(String)
    }

    private let host: String
    private let port: Int
    private let loop: EventLoop
    private let tell: (Outcome) -> Void
    private var connection: TCPConnection?
    private var reader = HTTPAnswerReader()
    private var isAsking = false
    /// Whether the connection has ended.
    package private(set) var isOver = false
    private var timer: LoopTimer?

    package init(host: String, port: Int, on loop: EventLoop, tell: @escaping (Outcome) -> Void) {
        self.host = host
        self.port = port
        self.loop = loop
        self.tell = tell
    }

    package func send(_ request: Request, deadline: Instant) {
        precondition(!isAsking, "one request at a time")
        isAsking = true
        reader = HTTPAnswerReader()
        let connection =
            connection
            ?? TCPConnection.connect(host: host, port: port, on: loop, deadline: deadline, delegate: self)
        self.connection = connection
        let timer =
            self.timer
            ?? LoopTimer(on: loop) { [weak self] in self?.finish(.failed("the server did not answer in time"))
            }
        self.timer = timer
        timer.schedule(at: deadline)
        connection.send(Array(head(of: request).utf8))
        connection.send(request.body)
    }

    package func end() {
        isOver = true
        isAsking = false
        timer?.cancel()
        connection?.close()
    }

    package func received(_ bytes: UnsafeRawBufferPointer) {
        guard isAsking else {
            // The server sent an unexpected answer: it is about to close, or it is faulty.
            return end()
        }
        switch unsafe reader.read(bytes) {
        case .more: break
        case .malformed: finish(.failed("the server's answer is not valid HTTP"))
        case .complete(let answer, let isKept):
            if !isKept {
                isOver = true
                connection?.close()
            }
            finish(.answered(answer))
        }
    }

    package func writable() {}

    package func closed(_ reason: TCPCloseReason) {
        isOver = true
        finish(.failed(reason.description))
    }

    private func head(of request: Request) -> String {
        let authorization = request.key.isEmpty ? "" : "Authorization: Bearer \(request.key)\r\n"
        let once =
            request.idempotencyKey.isEmpty ? "" : "Idempotency-Key: \(request.idempotencyKey)\r\n"
        let content =
            request.body.isEmpty
            ? "" : "Content-Type: application/json\r\nContent-Length: \(request.body.count)\r\n"
        return """
            \(request.method) \(request.path) HTTP/1.1\r
            Host: \(host):\(port)\r
            \(authorization)\(once)\(content)\r

            """
    }

    private func finish(_ outcome: Outcome) {
        guard isAsking else { return }
        isAsking = false
        timer?.cancel()
        tell(outcome)
    }
}
