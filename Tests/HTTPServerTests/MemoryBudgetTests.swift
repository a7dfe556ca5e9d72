import Foundation
import HTTPServer
import Lifecycle
import Telemetry
import Testing

/// Requests that a route admits or refuses from their head, and the memory budgets of incoming bodies and of answers.
struct MemoryBudgetTests {
    private func bodyBytes(of server: TestServer) -> Int { metric("flotilla_http_body_bytes", of: server) }

    /// Returns the value of a metric, or -1 if the metric is missing.
    private func metric(_ name: String, of server: TestServer) -> Int {
        let line = server.metrics.render().split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? -1
    }

    private func wait(until fact: String, isTrue: () -> Bool) {
        let end = Instant.now().advanced(byMilliseconds: 20_000)
        while !isTrue(), Instant.now() < end { usleep(2000) }
        #expect(isTrue(), "\(fact)")
    }

    /// Starts a server that decides from the head of a request whether the request is admitted. The log has the
    /// decisions, and the calls of the handlers.
    private func admittingServer(
        limits: HTTPLimits = HTTPLimits()
    ) throws -> (TestServer, log: TestServer.CallLog) {
        let log = TestServer.CallLog()
        let server = try TestServer(limits: limits) { routes in
            routes.onAdmission(.post, path: "/admission") { request in
                log.add("decided on \(request.headers["authorization"] ?? "nobody")")
                guard request.headers["authorization"] == "good" else {
                    return .refused(.error(status: 401, code: "key_unknown", message: "no"))
                }
                return .admitted { request, reply in
                    log.add("took \(request.body.count)")
                    reply.send(.text("\(request.body.count)"))
                }
            }
            routes.onAdmission(.post, path: "/later") { _ in
                .refusedLater { request, reply in
                    log.add("later with \(request.body.count)")
                    reply.send(.error(status: 401, code: "key_unknown", message: "no"))
                }
            }
        }
        return (server, log)
    }

    @Test func `a request is admitted from its head, before its body arrives`() async throws {
        let (server, log) = try admittingServer()
        let port = server.port
        try await onThread {
            let peer = try RawPeer(port: port)
            peer.send(
                "POST /admission HTTP/1.1\r\nHost: x\r\nAuthorization: good\r\nContent-Length: 5\r\n\r\n")
            self.wait(until: "the request is admitted") { log.all == ["decided on good"] }
            peer.send("hello")
            #expect(peer.answers(atLeast: 1).map(\.body) == ["5"])
        }
        #expect(log.all == ["decided on good", "took 5"])
    }

    @Test(arguments: ["/admission", "/later"])
    func `the body of a refused request is discarded, and the connection stays open`(
        _ path: String
    ) async throws {
        let (server, log) = try admittingServer()
        let port = server.port
        try await onThread {
            let peer = try RawPeer(port: port)
            peer.send("POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n")
            peer.send([UInt8](repeating: 0x61, count: 500_000))
            #expect(self.bodyBytes(of: server) == 0)
            peer.send([UInt8](repeating: 0x61, count: 400_000))
            #expect(peer.answers(atLeast: 1).map(\.status) == [401])
            peer.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(peer.answers(atLeast: 2).map(\.status) == [401, 200])
        }
        #expect(log.all == (path == "/later" ? ["later with 0"] : ["decided on nobody"]))
    }

    @Test func `a peer that waits for 100 Continue is refused before it sends its body`() async throws {
        let (server, _) = try admittingServer()
        let head = "POST /admission HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 900000\r\n"
        let (answers, isClosed) = try await server.exchange(head + "\r\n")
        #expect(answers.map(\.status) == [401] && isClosed)
    }

    @Test func `all incoming bodies share one budget, and their reservations are released`() async throws {
        var limits = HTTPLimits()
        // Four bodies of 32 KiB.
        limits.bodiesBytesMax = 128 << 10
        let (server, _) = try admittingServer(limits: limits)
        let port = server.port
        try await onThread {
            // An announced length reserves nothing. Arrived bytes do.
            let peers = try (0..<20).map { _ in try RawPeer(port: port) }
            for peer in peers {
                peer.send(
                    "POST /admission HTTP/1.1\r\nHost: x\r\nAuthorization: good\r\nContent-Length: 32768\r\n\r\n"
                )
            }
            #expect(self.bodyBytes(of: server) == 0)
            // The last byte is missing, so the four bodies keep their memory.
            let body = [UInt8](repeating: 0x61, count: 32_767)
            for peer in peers[..<4] { peer.send(body) }
            self.wait(until: "the budget is used up") { self.bodyBytes(of: server) == 128 << 10 }
            for peer in peers[4...] { peer.send(body + [0x61]) }
            for peer in peers[4...] {
                let answers = peer.answers(atLeast: 1)
                #expect(answers.map(\.status) == [503])
                #expect(answers.first?.code == "bodies_full" && answers.first?.header("Retry-After") == "1")
            }
            for peer in peers[..<4] {
                peer.send("a")
                #expect(peer.answers(atLeast: 1).map(\.body) == ["32768"])
            }
            self.wait(until: "the reservations are released") { self.bodyBytes(of: server) == 0 }
            // The body of a peer that disconnects is also released.
            let gone = try RawPeer(port: port)
            gone.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\nhello")
            self.wait(until: "the body was reserved") { self.bodyBytes(of: server) > 0 }
            gone.endSending()
            _ = gone.answers()
            self.wait(until: "the reservation is released") { self.bodyBytes(of: server) == 0 }
        }
    }

    @Test func `all answers share one budget, and slow readers do not exceed it`() async throws {
        var limits = HTTPLimits()
        limits.answersBytesMax = 8 << 20
        // More than the kernel's buffers take for a peer that does not read.
        let answerBytes = 8 << 20
        let server = try TestServer(limits: limits) { routes in
            routes.on(.get, path: "/large") { _ in
                .text(String(repeating: "a", count: answerBytes))
            }
        }
        let port = server.port
        try await onThread {
            let slowReader = try RawPeer(port: port)
            slowReader.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            self.wait(until: "the budget is used up") {
                self.metric("flotilla_http_answer_bytes", of: server) == answerBytes
            }
            let second = try RawPeer(port: port)
            second.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            let refused = second.answers(atLeast: 1)
            #expect(refused.map(\.status) == [503])
            #expect(refused.first?.code == "answers_full" && refused.first?.header("Retry-After") == "1")
            #expect(slowReader.answers(atLeast: 1).map(\.body.utf8.count) == [answerBytes])
            self.wait(until: "the memory is released") {
                self.metric("flotilla_http_answer_bytes", of: server) == 0
            }
            second.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(second.answers(atLeast: 2).map(\.status) == [503, 200])
        }
    }
}
