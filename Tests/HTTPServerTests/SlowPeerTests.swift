import Foundation
import HTTPServer
import Lifecycle
import Testing

/// Clients that send or read too slowly. Each is cut after its deadline, and other clients are not affected.
@Suite(.serialized) struct SlowPeerTests {
    private var limits: HTTPLimits {
        var limits = HTTPLimits()
        limits.headMilliseconds = 400
        limits.bodyGraceMilliseconds = 400
        limits.idleMilliseconds = 600
        limits.sendMilliseconds = 400
        return limits
    }

    /// Sends `start` at once and the rest byte by byte until the connection ends. Returns the answers and the duration.
    private func sendSlowly(_ rest: String = "", after start: String, to server: TestServer) async throws -> (
        answers: [RawAnswer], milliseconds: Int
    ) {
        let port = server.port
        return try await onThread {
            let begin = Instant.now()
            let peer = try RawPeer(port: port)
            peer.send(start)
            let slowBytes = Array((rest + String(repeating: "x", count: 1000)).utf8)
            for byte in slowBytes {
                _ = peer.answers(within: 20)
                if peer.isClosed || !peer.send([byte]) { break }
            }
            return (peer.answers(within: 100), Instant.now().milliseconds(since: begin))
        }
    }

    @Test func `slow headers are answered 408 and cut`() async throws {
        let server = try TestServer(limits: limits)
        let (answers, milliseconds) = try await sendSlowly(after: "GET /hello HTTP/1.1\r\nX: ", to: server)
        #expect(answers.map(\.status) == [408] && answers.first?.code == "too_slow")
        // The limit is 400 ms. A loaded machine may be much slower.
        #expect((350..<15_000).contains(milliseconds))
    }

    @Test func `a slow request line is cut, and so is a silent connection`() async throws {
        let server = try TestServer(limits: limits)
        #expect(try await sendSlowly(after: "G", to: server).answers.map(\.status) == [408])
        let (answers, isClosed) = try await server.exchange("", within: 15_000)
        #expect(answers.map(\.status) == [408] && isClosed)
    }

    @Test func `a slow body is answered 408 and cut`() async throws {
        let server = try TestServer(limits: limits)
        let (answers, milliseconds) = try await sendSlowly(
            after: "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n", to: server)
        #expect(answers.map(\.status) == [408] && milliseconds < 15_000)
        #expect(server.calls == [])
    }

    // At the required average rate, the fast start would pay for twenty seconds.
    @Test(arguments: [
        ("Content-Length: 30000\r\n\r\n", ""),
        ("Transfer-Encoding: chunked\r\n\r\n5000\r\n", "\r\n0\r\nT: "),
    ])
    func `a body or trailers that start fast and then slow down are cut`(
        _ framing: String, _ rest: String
    ) async throws {
        let server = try TestServer(limits: limits)
        let start = "POST /echo HTTP/1.1\r\nHost: x\r\n" + framing + String(repeating: "x", count: 20_480)
        let (answers, milliseconds) = try await sendSlowly(rest, after: start, to: server)
        #expect(answers.map(\.status) == [408] && milliseconds < 15_000)
        #expect(server.calls == [])
    }

    @Test func `a slow later request is cut like the first one`() async throws {
        var limits = limits
        limits.idleMilliseconds = 60_000
        let server = try TestServer(limits: limits)
        let validRequest = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
        let (answers, milliseconds) = try await sendSlowly(
            "GET /hello HTTP/1.1\r\nX: ", after: validRequest, to: server)
        #expect(answers.map(\.status) == [200, 408] && milliseconds < 15_000)
    }

    @Test func `an idle connection is closed without an answer`() async throws {
        let server = try TestServer(limits: limits)
        let (answers, isClosed) = try await server.exchange(
            "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", within: 15_000)
        #expect(answers.map(\.status) == [200] && isClosed)
    }

    @Test func `a peer that does not receive its answer is cut`() async throws {
        let server = try TestServer(limits: limits) { routes in
            let large = [UInt8](repeating: 0x61, count: 64 << 20)
            routes.on(.get, path: "/large") { _ in HTTPResponse(body: large) }
        }
        let port = server.port
        let isCut = try await onThread { () -> Bool in
            let peer = try RawPeer(port: port)
            peer.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            let end = Instant.now().advanced(byMilliseconds: 20_000)
            while server.server.connectionCount == 0, Instant.now() < end { usleep(2000) }
            while server.server.connectionCount > 0, Instant.now() < end { usleep(2000) }
            return server.server.connectionCount == 0
        }
        #expect(isCut)
    }

    @Test func `fast peers are not affected by two hundred slow ones`() async throws {
        var limits = limits
        limits.headMilliseconds = 1_000
        limits.bodyGraceMilliseconds = 1_000
        limits.idleMilliseconds = 60_000
        let server = try TestServer(limits: limits)
        let port = server.port
        let slowPeers = try await onThread { try Self.slowPeers(count: 200, port: port) }
        let slowestMilliseconds = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<10 {
                group.addTask { try await onThread { try Self.slowestAnswer(ofRequests: 50, port: port) } }
            }
            group.addTask { try await onThread { Self.areAllCut(slowPeers) ? 0 : .max } }
            return try await group.reduce(0) { max($0, $1) }
        }
        // Much more than an answer needs, because the machine may be loaded.
        #expect(slowestMilliseconds < 2_000)
    }

    /// Connects peers that have sent a part of a head or no body, from several addresses because of the limit per peer.
    private static func slowPeers(count: Int, port: Int) throws -> [UncheckedPeer] {
        try (0..<count).map { number in
            let peer = try RawPeer(port: port, source: "127.0.0.\(2 + number % 50)")
            peer.send(
                number % 2 == 0
                    ? "GET /he" : "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n")
            return UncheckedPeer(peer)
        }
    }

    /// Sends requests one after another. Returns the milliseconds of the slowest answer, or `Int.max` if one is
    /// missing.
    private static func slowestAnswer(ofRequests requestCount: Int, port: Int) throws -> Int {
        let peer = try RawPeer(port: port)
        var slowest = 0
        for count in 1...requestCount {
            let begin = Instant.now()
            peer.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
            guard peer.answers(atLeast: count, within: 20_000).count == count else { return .max }
            slowest = max(slowest, Instant.now().milliseconds(since: begin))
        }
        return slowest
    }

    /// Sends slowly over all peers, and returns whether the server cuts each within 20 s.
    private static func areAllCut(_ slowPeers: [UncheckedPeer]) -> Bool {
        let end = Instant.now().advanced(byMilliseconds: 20_000)
        var open = slowPeers.map(\.peer)
        while !open.isEmpty, Instant.now() < end {
            open.removeAll { peer in
                _ = peer.answers(within: 1)
                return peer.isClosed || !peer.send("x")
            }
        }
        return open.isEmpty
    }
}

/// A peer that is passed from one thread to the next and never shared.
struct UncheckedPeer: @unchecked Sendable {
    let peer: RawPeer

    init(_ peer: RawPeer) { self.peer = peer }
}
