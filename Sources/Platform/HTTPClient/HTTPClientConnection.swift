package import Lifecycle
package import TLS

/// One connection to an HTTP/1.1 server, with one request at a time. `send` connects when it is first called.
/// An ended connection stays ended: its owner makes another. Confined to its loop.
package final class HTTPClientConnection: TCPConnectionDelegate {
    package struct Request {
        package var method: String
        /// The path with the query.
        package var path: String
        /// The API key. An empty string sends none.
        package var apiKey: String
        /// The idempotency key, so that the server carries out a repeated request once. An empty string sends
        /// none.
        package var idempotencyKey = ""
        package var body: [UInt8]

        package init(method: String, path: String, apiKey: String = "", body: [UInt8] = []) {
            self.method = method
            self.path = path
            self.apiKey = apiKey
            self.body = body
        }
    }

    /// The end of one request.
    package enum ExchangeOutcome: Sendable {
        case answered(HTTPClientResponse)
        /// The text is the reason, for an operator. The server may have carried out the request.
        case failed(String)
    }

    private let host: String
    private let port: Int
    private let loop: EventLoop
    private let onOutcome: (ExchangeOutcome) -> Void
    private let tls: TLSContext?
    private var connection: TCPConnection?
    /// The connection to a server with TLS, instead of `connection`.
    private var channel: TLSChannel?
    private let bodyBytesMax: Int
    private var parser = HTTPResponseParser()
    private var isAwaitingResponse = false
    /// Whether the connection has ended.
    package private(set) var hasEnded = false
    /// The timer of the request's deadline. One timer serves all requests.
    private var timer: LoopTimer?

    /// - Parameters:
    ///   - tls: The configuration for a server with TLS, or nil for plain text.
    ///   - bodyBytesMax: The limit of an answer's body. A longer answer fails.
    package init(
        host: String, port: Int, on loop: EventLoop, tls: TLSContext? = nil,
        bodyBytesMax: Int = HTTPResponseParser.bodyBytesDefault,
        onOutcome: @escaping (ExchangeOutcome) -> Void
    ) {
        self.bodyBytesMax = bodyBytesMax
        self.host = host
        self.port = port
        self.tls = tls
        self.loop = loop
        self.onOutcome = onOutcome
    }

    /// Sends a request. `onOutcome` is called once, at the deadline at the latest, unless `end` comes first.
    package func send(_ request: Request, deadline: Instant) {
        precondition(!isAwaitingResponse, "one request at a time")
        isAwaitingResponse = true
        parser = HTTPResponseParser(bodyBytesMax: bodyBytesMax)
        let timer =
            self.timer
            ?? LoopTimer(on: loop) { [weak self] in
                self?.finish(with: .failed("the server did not answer in time"))
            }
        self.timer = timer
        timer.schedule(at: deadline)
        transmit(Array(head(of: request).utf8) + request.body, deadline: deadline)
    }

    /// Sends the bytes, and connects first if there is no connection.
    private func transmit(_ bytes: [UInt8], deadline: Instant) {
        if let tls {
            let channel =
                channel
                ?? TLSChannel(to: host, port: port, tls: tls, on: loop, deadline: deadline, owner: self)
            self.channel = channel
            return channel.send(bytes)
        }
        let connection =
            connection
            ?? TCPConnection.connect(host: host, port: port, on: loop, deadline: deadline, delegate: self)
        self.connection = connection
        connection.send(bytes)
    }

    private func close() {
        connection?.close()
        channel?.close()
    }

    /// Closes the connection. An unanswered request gets no outcome.
    package func end() {
        hasEnded = true
        isAwaitingResponse = false
        timer?.cancel()
        close()
    }

    package func didReceive(_ bytes: UnsafeRawBufferPointer) {
        guard isAwaitingResponse else {
            // The server answers without a request: it is about to close the connection, or it is faulty.
            return end()
        }
        switch unsafe parser.parse(bytes) {
        case .needsMore: break
        case .malformed: finish(with: .failed("the server's answer is not valid HTTP"))
        case .complete(let response, let keepsAlive):
            if !keepsAlive {
                hasEnded = true
                close()
            }
            finish(with: .answered(response))
        }
    }

    package func didBecomeWritable() {}

    package func didClose(reason: TCPCloseReason) { didEnd(because: reason.description) }

    fileprivate func didEnd(because reason: String) {
        hasEnded = true
        channel = nil
        finish(with: .failed(reason))
    }

    private func head(of request: Request) -> String {
        let authorization = request.apiKey.isEmpty ? "" : "Authorization: Bearer \(request.apiKey)\r\n"
        let idempotencyKey =
            request.idempotencyKey.isEmpty ? "" : "Idempotency-Key: \(request.idempotencyKey)\r\n"
        let content =
            request.body.isEmpty
            ? "" : "Content-Type: application/json\r\nContent-Length: \(request.body.count)\r\n"
        return """
            \(request.method) \(request.path) HTTP/1.1\r
            Host: \(host):\(port)\r
            \(authorization)\(idempotencyKey)\(content)\r

            """
    }

    private func finish(with outcome: ExchangeOutcome) {
        guard isAwaitingResponse else { return }
        isAwaitingResponse = false
        timer?.cancel()
        onOutcome(outcome)
    }
}

/// The TLS connection of an `HTTPClientConnection`, with the bytes that it has not taken yet.
private final class TLSChannel: TLSConnectionDelegate {
    private weak var owner: HTTPClientConnection?
    private var connection: TLSConnection?
    private var pending: [UInt8] = []

    init(
        to host: String, port: Int, tls: TLSContext, on loop: EventLoop, deadline: Instant,
        owner: HTTPClientConnection
    ) {
        self.owner = owner
        connection = TLSConnection.connect(
            context: tls, host: host, port: port, on: loop, deadline: deadline, delegate: self)
    }

    func send(_ bytes: [UInt8]) {
        pending += bytes
        connection?.requestFill()
    }

    func close() { connection?.close() }

    func didEstablish(applicationProtocol: String) { connection?.requestFill() }

    func didReceive(_ plaintext: UnsafeRawBufferPointer) { unsafe owner?.didReceive(plaintext) }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, pending.count)
        if count == 0 { return 0 }
        unsafe pending.withUnsafeBytes { bytes in
            unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        }
        pending.removeFirst(count)
        return count
    }

    func didClose(reason: TLSCloseReason) {
        connection = nil
        owner?.didEnd(because: reason.description)
    }
}
