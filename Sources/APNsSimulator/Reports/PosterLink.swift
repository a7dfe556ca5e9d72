internal import Lifecycle

/// One connection to a server that takes reports, for as long as it lasts; one request at a time.
/// Confined to its loop.
final class PosterLink: TCPConnectionDelegate {
    enum Outcome {
        case status(Int)
        case failed(String)
    }

    private let host: String
    private let port: Int
    private let loop: EventLoop
    private let tell: (Outcome) -> Void
    private var connection: TCPConnection?
    private var reader = PostAnswer()
    private var isAsking = false
    /// Nothing can be posted any more.
    private(set) var isOver = false
    private var timer: LoopTimer?

    init(host: String, port: Int, on loop: EventLoop, tell: @escaping (Outcome) -> Void) {
        self.host = host
        self.port = port
        self.loop = loop
        self.tell = tell
    }

    func post(_ path: String, host: String, key: String, body: [UInt8], deadline: Instant) {
        precondition(!isAsking, "one request at a time")
        isAsking = true
        reader = PostAnswer()
        let authorization = key.isEmpty ? "" : "Authorization: Bearer \(key)\r\n"
        let head = """
            POST \(path) HTTP/1.1\r
            Host: \(host):\(port)\r
            \(authorization)Content-Type: application/json\r
            Content-Length: \(body.count)\r
            \r

            """
        let connection =
            connection
            ?? TCPConnection.connect(host: host, port: port, on: loop, deadline: deadline, delegate: self)
        self.connection = connection
        let timer =
            self.timer ?? LoopTimer(on: loop) { [weak self] in self?.finish(.failed("no answer in time")) }
        self.timer = timer
        timer.schedule(at: deadline)
        connection.send(Array(head.utf8))
        connection.send(body)
    }

    func end() {
        isOver = true
        isAsking = false
        timer?.cancel()
        connection?.close()
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        guard isAsking else {
            // An answer that nobody asked for: the server is about to close, or confused.
            return end()
        }
        switch unsafe reader.read(bytes) {
        case .more: break
        case .malformed: finish(.failed("the server's answer is no HTTP"))
        case .complete(let status, let isKept):
            if !isKept {
                isOver = true
                connection?.close()
            }
            finish(.status(status))
        }
    }

    func writable() {}

    func closed(_ reason: TCPCloseReason) {
        isOver = true
        finish(.failed(reason.description))
    }

    private func finish(_ outcome: Outcome) {
        guard isAsking else { return }
        isAsking = false
        timer?.cancel()
        tell(outcome)
    }
}
