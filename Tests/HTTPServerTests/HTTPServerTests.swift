import Foundation
import HTTPServer
import Lifecycle
import Synchronization
import Testing

/// The requests and answers of the server, over real sockets.
struct HTTPServerTests {
    private let host = "Host: localhost\r\n"

    @Test func `a handler gets method, path, parameters, query, headers, body and peer`() async throws {
        let receivedRequest = Mutex<HTTPRequest?>(nil)
        let server = try TestServer { routes in
            routes.on(.put, path: "/v1/segments/{name}/of/{app}") { request in
                receivedRequest.withLock { $0 = request }
                return .json(Array("{}".utf8), status: 201)
            }
        }
        let (answers, _) = try await server.exchange(
            "PUT /v1/segments/gold%2Fvip/of/%C3%A9?a=1&b=x+y%26z&flag HTTP/1.1\r\n\(host)X-Thing: Value \r\n"
                + "Content-Length: 5\r\n\r\nhello", answers: 1)
        #expect(answers.map(\.status) == [201])
        #expect(answers.first?.header("content-type") == "application/json")
        let request = try #require(receivedRequest.withLock { $0 })
        #expect(request.method == .put && request.path == "/v1/segments/gold%2Fvip/of/%C3%A9")
        #expect(request.parameters == ["name": "gold/vip", "app": "é"])
        #expect(
            request.query(named: "a") == "1" && request.query(named: "b") == "x y&z"
                && request.query(named: "flag") == "")
        #expect(request.query(named: "none") == nil && request.headers["x-THING"] == "Value")
        #expect(request.body == Array("hello".utf8) && request.peer == "127.0.0.1")
    }

    @Test func `an unknown path and an unsupported method have different answers`() async throws {
        let server = try TestServer()
        let text =
            "GET /nothing HTTP/1.1\r\n\(host)\r\n" + "DELETE /hello HTTP/1.1\r\n\(host)\r\n"
            + "GET /hello/ HTTP/1.1\r\n\(host)\r\n" + "GET //hello HTTP/1.1\r\n\(host)\r\n"
            + "GET /hello HTTP/1.1\r\n\(host)\r\n"
        let (answers, isClosed) = try await server.exchange(text, answers: 5)
        #expect(answers.map(\.status) == [404, 405, 404, 404, 200])
        #expect(answers.map(\.code) == ["not_found", "method_not_allowed", "not_found", "not_found", nil])
        #expect(answers.dropFirst().first?.header("allow") == "GET")
        #expect(!isClosed)
    }

    @Test func `a connection serves many requests with bodies, also when they are pipelined`() async throws {
        let server = try TestServer()
        let request = "POST /echo HTTP/1.1\r\n\(host)Content-Length: 3\r\n\r\nabc"
        let (answers, isClosed) = try await server.exchange(
            String(repeating: request, count: 20), answers: 20)
        #expect(answers.map(\.body) == Array(repeating: "abc", count: 20))
        #expect(!isClosed)
    }

    @Test func `an HTTP 1.0 request is answered and its connection closes`() async throws {
        let server = try TestServer()
        let (answers, isClosed) = try await server.exchange("GET /hello HTTP/1.0\r\n\r\n")
        #expect(answers.map(\.body) == ["hello"] && isClosed)
    }

    @Test(arguments: [
        ("gzip", true), ("br;q=0.5, GZIP", true), ("gzip; q=0.001", true), ("gzip;q=0", false),
        ("gzip; q=0.000", false), ("identity", false),
    ])
    func `gzip is accepted unless its quality is 0`(codings: String, isAccepted: Bool) async throws {
        let server = try TestServer { routes in
            routes.on(.get, path: "/gzip") { request in .text("\(request.acceptsGzip)") }
        }
        let (answers, _) = try await server.exchange(
            "GET /gzip HTTP/1.1\r\nHost: x\r\nAccept-Encoding: \(codings)\r\n\r\n", answers: 1)
        #expect(answers.map(\.body) == ["\(isAccepted)"])
    }

    @Test func `replies from other threads reach their own requests`() async throws {
        let held = Mutex<[(HTTPRequest, HTTPReply)]>([])
        let server = try TestServer { routes in
            routes.onDeferred(.get, path: "/wait/{number}") { request, reply in
                // The last of the ten requests takes all of them.
                let batch: [(HTTPRequest, HTTPReply)] = held.withLock { held in
                    held.append((request, reply))
                    guard held.count == 10 else { return [] }
                    let all = held
                    held = []
                    return all
                }
                if batch.isEmpty { return }
                Thread.detachNewThread {
                    for (request, reply) in batch.reversed() {
                        reply.send(.text(request.parameters["number"] ?? ""))
                    }
                }
            }
        }
        let bodies = try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for number in 0..<10 {
                group.addTask {
                    let (answers, _) = try await server.exchange(
                        "GET /wait/\(number) HTTP/1.1\r\nHost: x\r\n\r\n", answers: 1)
                    return (number, answers.first?.body ?? "")
                }
            }
            return try await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
        }
        #expect(bodies == Dictionary(uniqueKeysWithValues: (0..<10).map { ($0, "\($0)") }))
    }

    @Test func `an async handler answers, and the connection stays open`() async throws {
        // On a small machine tasks wait behind other tests, so the limit must not interfere here.
        var limits = HTTPLimits()
        limits.answerMilliseconds = 600_000
        let server = try TestServer(limits: limits) { routes in
            routes.onAsync(.get, path: "/async") { _ in
                await Task.yield()
                return .text("later")
            }
        }
        let request = "GET /async HTTP/1.1\r\n\(host)\r\n"
        let (answers, isClosed) = try await server.exchange(
            request + request + request, answers: 3, within: 600_000)
        #expect(answers.map(\.body) == ["later", "later", "later"] && !isClosed)
    }

    @Test func `a request whose reply is dropped is answered 500`() async throws {
        let server = try TestServer { routes in routes.onDeferred(.get, path: "/forget") { _, _ in } }
        let (answers, _) = try await server.exchange("GET /forget HTTP/1.1\r\n\(host)\r\n", answers: 1)
        #expect(answers.map(\.status) == [500] && answers.first?.code == "unanswered")
    }

    @Test func `an answer that takes too long becomes 503, and the late reply is dropped`() async throws {
        var limits = HTTPLimits()
        limits.answerMilliseconds = 80
        let held = Mutex<[HTTPReply]>([])
        let server = try TestServer(limits: limits) { routes in
            routes.onDeferred(.get, path: "/slow") { _, reply in held.withLock { $0.append(reply) } }
        }
        let (answers, _) = try await server.exchange("GET /slow HTTP/1.1\r\n\(host)\r\n", answers: 1)
        #expect(answers.map(\.status) == [503] && answers.first?.code == "answer_too_slow")
        held.withLock { $0.first?.send(.text("late")) }
        let (others, _) = try await server.exchange("GET /hello HTTP/1.1\r\n\(host)\r\n", answers: 1)
        #expect(others.map(\.body) == ["hello"])
    }

    @Test func `a port that is in use gives one clear error`() throws {
        let first = try TestServer()
        let errorStart = "cannot listen on 127.0.0.1:\(first.port): address already in use; "
        #expect {
            try HTTPServer(name: "second", host: "127.0.0.1", port: first.port, routes: HTTPRoutes())
        } throws: { "\($0)".hasPrefix(errorStart) }
    }

    @Test func `an answer's header cannot inject another line`() async throws {
        let server = try TestServer { routes in
            routes.on(.get, path: "/bad") { _ in HTTPResponse(headers: ["X-A": "b\r\nX-Evil: 1"], body: []) }
        }
        let (answers, _) = try await server.exchange("GET /bad HTTP/1.1\r\n\(host)\r\n", answers: 1)
        #expect(answers.count == 1 && answers.first?.header("x-evil") == nil)
    }
}
