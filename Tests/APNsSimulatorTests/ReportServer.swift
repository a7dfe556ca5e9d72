import InstallationRecords
import JSON
import Lifecycle

/// An HTTP server to which phones post their reports. It answers each request by the next step of its script, and after
/// the script with 202. It keeps the received requests.
///
/// `@unchecked Sendable`: everything but `state` is used on the loop only, or set once.
final class ReportServer: @unchecked Sendable {
    /// The reaction to one request. The number is the status.
    enum Step {
        case answer(Int)
        case answerAndClose(Int)
        /// An answer without a length, which ends with the connection.
        case answerWithoutLength(Int)
        case close
        case garbage
    }

    private let state = TracedLock<(steps: [Step], bodies: [[UInt8]], heads: [String])>(([], [], []))
    private let loop: EventLoop
    private var listener: TCPListener?
    /// The open connections.
    private var open: [ObjectIdentifier: TCPConnection] = [:]

    init(_ steps: [Step], on loop: EventLoop) throws {
        self.loop = loop
        state.withLock { $0.steps = steps }
        listener = try TCPListener(host: "127.0.0.1", port: 0, on: [loop], connectionsMax: 10) {
            [weak self] connection in
            guard let self else { return nil }
            open[ObjectIdentifier(connection)] = connection
            return Served(connection, self)
        }
    }

    var port: Int { listener?.port ?? 0 }
    var bodies: [[UInt8]] { state.withLock { $0.bodies } }
    /// The request lines with their headers.
    var heads: [String] { state.withLock { $0.heads } }

    /// Stops before the loop does, so that no caller waits for the loop forever.
    func stop() {
        listener?.stop()
        loop.perform { for connection in self.open.values { connection.close() } }
    }

    fileprivate func closed(_ connection: TCPConnection) { open[ObjectIdentifier(connection)] = nil }

    /// Decodes the reports of a body.
    static func reports(in body: [UInt8]) throws -> [Report] {
        try JSONReader(limits: JSONLimits(bytesMax: 1 << 20, keysMax: 64_000)).read(body) { value in
            value.array(countMax: 1_000).map { Report(app: "shop", from: $0.object()) }
        }
    }

    /// Keeps a request, and returns the step that answers it.
    fileprivate func next(_ head: String, _ body: [UInt8]) -> Step {
        state.withLock { state in
            state.heads.append(head)
            state.bodies.append(body)
            return state.steps.isEmpty ? .answer(202) : state.steps.removeFirst()
        }
    }

    /// A connection. It collects bytes until a request is complete.
    private final class Served: TCPConnectionDelegate {
        let connection: TCPConnection
        let server: ReportServer
        var bytes: [UInt8] = []

        init(_ connection: TCPConnection, _ server: ReportServer) {
            self.connection = connection
            self.server = server
        }

        func didReceive(_ new: UnsafeRawBufferPointer) {
            bytes += new
            let emptyLine = "\r\n\r\n".utf8
            guard let headEnd = bytes.indices.first(where: { bytes[$0...].starts(with: emptyLine) }) else {
                return
            }
            let head = String(decoding: bytes[..<headEnd], as: UTF8.self)
            let lengthField = "Content-Length: "
            let length = head.split(separator: "\r\n").first { $0.hasPrefix(lengthField) }
                .flatMap { Int($0.dropFirst(lengthField.count)) }
            let bodyStart = headEnd + emptyLine.count
            guard let length, bytes.count >= bodyStart + length else { return }
            let body = Array(bytes[bodyStart..<(bodyStart + length)])
            bytes.removeFirst(bodyStart + length)
            act(server.next(head, body))
        }

        private func act(_ step: Step) {
            func send(_ text: String) { connection.send(Array(text.utf8)) }
            switch step {
            case .answer(let status): send("HTTP/1.1 \(status) Word\r\nContent-Length: 2\r\n\r\n{}")
            case .answerAndClose(let status):
                send("HTTP/1.1 \(status) Word\r\ncontent-length: 0\r\nConnection: Close\r\n\r\n")
                connection.finish()
            case .answerWithoutLength(let status):
                send("HTTP/1.1 \(status) Word\r\n\r\nwords")
                connection.finish()
            case .close: connection.close()
            case .garbage: send("220 mail.example.com ESMTP\r\n\r\n")
            }
        }

        func didBecomeWritable() {}
        func didClose(reason: TCPCloseReason) { server.closed(connection) }
    }
}
