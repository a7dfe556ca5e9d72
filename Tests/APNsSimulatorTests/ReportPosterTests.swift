import JSON
import Lifecycle
import LiveActivity
import ProcessTesting
import Testing

@testable import APNsSimulator

/// A server that does as it is told, request by request, and keeps what it was sent.
private final class ScriptedServer: @unchecked Sendable {
    enum Step {
        case answer(Int)
        case answerAndClose(Int)
        /// No word about the length; the end of the connection is the end of the answer.
        case answerWithoutLength(Int)
        case close
        case garbage
    }

    private let state = TracedLock<(steps: [Step], bodies: [[UInt8]], heads: [String])>(([], [], []))
    private var listener: Listener?

    init(_ steps: [Step], on loop: EventLoop) throws {
        state.withLock { $0.steps = steps }
        listener = try Listener(host: "127.0.0.1", port: 0, on: [loop], connectionsMax: 10) { connection in
            Served(connection, self)
        }
    }

    var port: Int { listener?.port ?? 0 }
    var bodies: [[UInt8]] { state.withLock { $0.bodies } }
    var heads: [String] { state.withLock { $0.heads } }
    func stop() { listener?.stop() }

    fileprivate func next(_ head: String, _ body: [UInt8]) -> Step {
        state.withLock { state in
            state.heads.append(head)
            state.bodies.append(body)
            return state.steps.isEmpty ? .answer(202) : state.steps.removeFirst()
        }
    }

    private final class Served: TCPConnectionDelegate {
        let connection: TCPConnection
        let server: ScriptedServer
        var bytes: [UInt8] = []

        init(_ connection: TCPConnection, _ server: ScriptedServer) {
            self.connection = connection
            self.server = server
        }

        func received(_ new: UnsafeRawBufferPointer) {
            bytes += new
            guard let split = bytes.indices.first(where: { bytes[$0...].starts(with: "\r\n\r\n".utf8) })
            else {
                return
            }
            let head = String(decoding: bytes[..<split], as: UTF8.self)
            let length = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
                .flatMap { Int($0.dropFirst(16)) }
            guard let length, bytes.count >= split + 4 + length else { return }
            let body = Array(bytes[(split + 4)..<(split + 4 + length)])
            bytes.removeFirst(split + 4 + length)
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

        func writable() {}
        func closed(_ reason: TCPCloseReason) {}
    }
}

private func reports(_ numbers: Range<Int>) -> [Report] {
    numbers.map {
        Report(app: "shop", environment: .production, installation: "phone-\($0)", kind: .heartbeat)
    }
}

private func installations(_ body: [UInt8]) throws -> [String] {
    try JSONReader(limits: JSONLimits(bytesMax: 1 << 20, keysMax: 64_000)).read(body) { value in
        value.array(countMax: 1_000).map { Report(from: $0.object()).installation ?? "" }
    }
}

private final class Held: @unchecked Sendable { var poster: ReportPoster? }

private func run(
    _ steps: [ScriptedServer.Step], reports count: Int,
    _ check: (ScriptedServer, ReportPoster.Counts) throws -> Void
) async throws {
    let loop = try EventLoop(name: "poster-test")
    try loop.start()
    defer { loop.stop() }
    let server = try ScriptedServer(steps, on: loop)
    let target = ReportPoster.Target(host: "127.0.0.1", port: server.port, key: "secret")
    let held = Held()
    loop.perform {
        let poster = ReportPoster(to: target, on: loop)
        held.poster = poster
        poster.take(reports(0..<count))
    }
    try await eventually("all reports are settled") {
        loop.perform { held.poster.map { $0.counts.taken + $0.counts.refused } } == count
    }
    let counts = loop.perform {
        defer { held.poster?.end() }
        return held.poster?.counts
    }
    try check(server, #require(counts ?? nil))
    server.stop()
}

@Test func `reports are posted in batches of a thousand, with the key, in order`() async throws {
    try await run([], reports: 2_500) { server, counts in
        #expect(counts == .init(taken: 2_500, refused: 0, retries: 0))
        let posted = try server.bodies.map(installations)
        #expect(posted.map(\.count) == [1_000, 1_000, 500])
        #expect(posted.flatMap(\.self) == (0..<2_500).map { "phone-\($0)" })
        #expect(server.heads[0].hasPrefix("POST /v1/reports HTTP/1.1\r\n"))
        #expect(server.heads[0].contains("\r\nAuthorization: Bearer secret\r\n"))
    }
}

@Test func `what was not taken is posted again, whatever went wrong`() async throws {
    try await run(
        [
            .answer(503), .close, .garbage, .answer(401), .answerAndClose(429), .answerAndClose(202),
            .answer(200),
        ],
        reports: 1_200
    ) { server, counts in
        #expect(counts == .init(taken: 1_200, refused: 0, retries: 5))
        let sizes = try server.bodies.map { try installations($0).count }
        #expect(sizes == [1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 200])
    }
}

@Test func `what the server refuses for good is dropped and counted`() async throws {
    try await run([.answer(400), .answerWithoutLength(202)], reports: 1_500) { _, counts in
        #expect(counts == .init(taken: 500, refused: 1_000, retries: 0))
    }
}

@Test func `a poster takes no more than it can hold`() throws {
    let loop = try EventLoop(name: "poster-room")
    try loop.start()
    defer { loop.stop() }
    let room = loop.perform {
        let poster = ReportPoster(to: .init(host: "127.0.0.1", port: 9, key: "k"), on: loop)
        poster.take(reports(0..<ReportPoster.waitingMax))
        defer { poster.end() }
        return poster.room
    }
    #expect(room == 0)
}

@Test func `an answer is read in any pieces`() {
    func read(_ text: String, by size: Int) -> PostAnswer.Step {
        var answer = PostAnswer()
        var step = PostAnswer.Step.more
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) where step == .more {
            step = bytes[start..<min(bytes.count, start + size)].withUnsafeBytes { answer.read($0) }
        }
        return step
    }
    for size in [1, 2, 7, 1_000] {
        #expect(
            read(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length:3\r\n\r\nabc", by: size)
                == .complete(status: 202, isKept: true))
        #expect(read("HTTP/1.1 204 None\r\n\r\n", by: size) == .complete(status: 204, isKept: true))
        #expect(read("HTTP/1.1 202 A\r\nContent-Length: 3\r\n\r\nab", by: size) == .more)
        #expect(
            read("HTTP/1.1 500 A\r\nTransfer-Encoding: chunked\r\n\r\n", by: size)
                == .complete(status: 500, isKept: false))
        #expect(read("SSH-2.0-x\r\n\r\n", by: size) == .malformed)
        #expect(read("HTTP/1.1 202 A\r\nContent-Length: -3\r\n\r\n", by: size) == .malformed)
    }
    #expect(read(String(repeating: "x", count: 20_000), by: 100) == .malformed)
}
