import Foundation
import HTTPServer
import Lifecycle
import Testing

/// The limits of heads, bodies and connections.
struct HTTPLimitsTests {
    /// Returns the default limits with a change.
    private func limits(_ change: (inout HTTPLimits) -> Void) -> HTTPLimits {
        var limits = HTTPLimits()
        change(&limits)
        return limits
    }

    @Test func `a body within the limit is accepted, and a larger one is refused`() async throws {
        let server = try TestServer(limits: limits { $0.bodyBytesMax = 1000 })
        for (bytes, status) in [(1000, 200), (1001, 413), (200_000, 413)] {
            let body = String(repeating: "x", count: bytes)
            let (answers, _) = try await server.exchange(
                "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: \(bytes)\r\n\r\n\(body)", answers: 1)
            #expect(answers.map(\.status) == [status])
            #expect(answers.first?.code == (status == 413 ? "body_too_large" : nil))
        }
        #expect(server.calls == ["echo 1000"])
    }

    @Test func `a route can set another body limit`() async throws {
        let server = try TestServer(limits: limits { $0.bodyBytesMax = 10 }) { routes in
            routes.on(.post, path: "/large", bodyBytesMax: 100) { .text("\($0.body.count)") }
        }
        let body = String(repeating: "x", count: 100)
        let (answers, _) = try await server.exchange(
            "POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n\(body)", answers: 1)
        #expect(answers.map(\.body) == ["100"])
    }

    @Test func `a huge announced body is refused before it is sent`() async throws {
        let server = try TestServer()
        let (answers, isClosed) = try await server.exchange(
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999\r\n\r\n")
        #expect(answers.map(\.status) == [413] && isClosed)
    }

    @Test func `endless chunks are cut and use no memory`() async throws {
        let server = try TestServer(limits: limits { $0.bodyBytesMax = 1000 })
        let port = server.port
        let sent = try await onThread { () -> Int in
            let peer = try RawPeer(port: port)
            peer.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = Array("1000\r\n\(String(repeating: "x", count: 4096))\r\n".utf8)
            var sent = 0
            while sent < 100 << 20, peer.send(chunk) { sent += 4096 }
            return sent
        }
        // The bytes in flight at the time of the cut are included.
        #expect(sent < 20 << 20)
        #expect(server.calls == [])
    }

    @Test func `a body that stops before its end is answered 408`() async throws {
        let server = try TestServer(limits: limits { $0.bodyGraceMilliseconds = 200 })
        let (answers, isClosed) = try await server.exchange(
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhello", within: 60_000)
        #expect(answers.map(\.status) == [408] && isClosed && server.calls == [])
    }

    // The library may see the end of input and close at once. Or it attributes the end to earlier bytes, and then the
    // grace time runs out. The kernel's timing decides, so the peer gets 408 or no answer.
    @Test func `a body whose sender has disconnected reaches no handler`() async throws {
        let server = try TestServer(limits: limits { $0.bodyGraceMilliseconds = 200 })
        let port = server.port
        let (statuses, isClosed) = try await onThread {
            let peer = try RawPeer(port: port)
            peer.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhello")
            peer.endSending()
            return (peer.answers().map(\.status), peer.isClosed)
        }
        #expect([[], [408]].contains(statuses) && isClosed && server.calls == [])
    }

    @Test func `a head beyond the limits, or with an unknown method or expectation, is refused`() async throws
    {
        let server = try TestServer()
        let many = (0..<70).map { "X-\($0): a\r\n" }.joined()
        let long = "X: \(String(repeating: "a", count: 17_000))\r\n"
        let target = "/hello?" + String(repeating: "a", count: 5000)
        for (request, status, code) in [
            ("GET /hello HTTP/1.1\r\nHost: x\r\n\(many)\r\n", 431, "headers_too_large"),
            ("GET /hello HTTP/1.1\r\nHost: x\r\n\(long)\r\n", 431, "headers_too_large"),
            ("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n", 414, "target_too_long"),
            ("BREW /hello HTTP/1.1\r\nHost: x\r\n\r\n", 501, "method_not_known"),
            ("GET /hello HTTP/1.1\r\nHost: x\r\nExpect: coffee\r\n\r\n", 417, "expectation_failed"),
        ] {
            let (answers, isClosed) = try await server.exchange(request)
            #expect(answers.map(\.status) == [status] && answers.first?.code == code && isClosed)
        }
    }

    @Test func `endless headers are cut`() async throws {
        let server = try TestServer()
        let port = server.port
        let sent = try await onThread { () -> Int in
            let peer = try RawPeer(port: port)
            peer.send("GET /hello HTTP/1.1\r\nHost: x\r\n")
            let line = Array("X: \(String(repeating: "a", count: 1000))\r\n".utf8)
            var sent = 0
            while sent < 10 << 20, peer.send(line) { sent += line.count }
            return sent
        }
        // The bytes in flight at the time of the cut are included.
        #expect(sent < 8 << 20)
    }

    @Test func `one address can open only a limited number of connections`() async throws {
        let server = try TestServer(limits: limits { $0.connectionsPerPeerMax = 3 })
        let port = server.port
        let request = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
        let (held, fourth, other) = try await onThread { () -> (Int, Int, Int) in
            let peers = try (0..<3).map { _ in try RawPeer(port: port) }
            var held = 0
            for peer in peers {
                peer.send(request)
                held += peer.answers(atLeast: 1).count
            }
            let fourth = try RawPeer(port: port)
            fourth.send(request)
            let other = try RawPeer(port: port, source: "127.0.0.2")
            other.send(request)
            return (held, fourth.answers(atLeast: 1).count, other.answers(atLeast: 1).count)
        }
        #expect(held == 3 && fourth == 0 && other == 1)
    }
}
