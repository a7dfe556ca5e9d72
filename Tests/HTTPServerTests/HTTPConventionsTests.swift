import Foundation
import HTTPServer
import Lifecycle
import Synchronization
import Telemetry
import Testing

/// The headers that follow from the status of an answer, and the id of each request.
struct HTTPConventionsTests {
    private func get(_ path: String, headers: String = "") -> String {
        "GET \(path) HTTP/1.1\r\nHost: x\r\n\(headers)\r\n"
    }

    private func makeServer() throws -> TestServer {
        var limits = HTTPLimits()
        // A test sends a body that is too slow.
        limits.bodyMilliseconds = 300
        return try TestServer(limits: limits) { routes in
            routes.on(.get, path: "/id") { .text($0.id) }
            for status in [429, 503] {
                routes.on(.get, path: "/\(status)") { _ in .error(status: status, code: "no", message: "no") }
            }
            routes.on(.get, path: "/own") { _ in
                var response = HTTPResponse.error(status: 503, code: "no", message: "no")
                response.headers.add("Retry-After", value: "77")
                return response
            }
            for status in [200, 404, 429] {
                routes.onAdmission(.get, path: "/limited/\(status)") { _ in
                    .admitted(limitHeaders: ["RateLimit": "r", "X-Own": "limit"]) { _, reply in
                        reply.send(HTTPResponse(status: status, headers: ["X-Own": "handler"]))
                    }
                }
            }
        }
    }

    @Test func `every answer has the client's id of the request, or a random one`() async throws {
        let server = try makeServer()
        let valid = "order-7_a.b~c:d+e/f="
        for path in ["/id", "/nowhere", "/429"] {
            let answer = try await server.exchange(
                get(path, headers: "X-Request-ID: \(valid)\r\n"), answers: 1
            ).answers[0]
            #expect(answer.header("X-Request-Id") == valid, "\(path): \(answer.head)")
            if path == "/id" { #expect(answer.body == valid) }
        }
        let invalid = ["a b", "a\"b", "é", String(repeating: "a", count: 129), "a\r\nX-Request-Id: b"]
        var ids: Set<String> = []
        for id in invalid {
            let answer = try await server.exchange(
                get("/id", headers: "X-Request-Id: \(id)\r\n"), answers: 1
            ).answers[0]
            let given = try #require(answer.header("X-Request-Id"), "\(id)")
            #expect(given.count == 32 && given.allSatisfy(\.isHexDigit) && answer.body == given)
            ids.insert(given)
        }
        #expect(ids.count == invalid.count)
    }

    @Test func `a request that no handler sees has an id, too`() async throws {
        let server = try makeServer()
        for request in ["GET /id HTTP/1.1\nHost: x\n\n", "BREW /id HTTP/1.1\r\nHost: x\r\n\r\n"] {
            let answer = try #require(try await server.exchange(request, answers: 1).answers.first)
            #expect(answer.status >= 400 && answer.header("X-Request-Id")?.count == 32, "\(answer.head)")
        }
        // A body that is announced far above the limit is refused with the head.
        let huge = "POST /echo HTTP/1.1\r\nHost: x\r\nX-Request-Id: huge\r\nContent-Length: 99999999\r\n\r\n"
        let refusal = try #require(try await server.exchange(huge, answers: 1).answers.first)
        #expect(refusal.status == 413 && refusal.header("X-Request-Id") == "huge", "\(refusal.head)")
        // The library can no longer answer when the body is too slow.
        let slow = "POST /echo HTTP/1.1\r\nHost: x\r\nX-Request-Id: slow\r\nContent-Length: 9\r\n\r\na"
        let answer = try #require(try await server.exchange(slow, answers: 1).answers.first)
        #expect(answer.status == 408 && answer.header("X-Request-Id") == "slow", "\(answer.head)")
    }

    @Test func `429 and 503 say when to try again, and a handler's own time counts`() async throws {
        let server = try makeServer()
        for (path, seconds) in [("/429", "5"), ("/503", "5"), ("/own", "77"), ("/nowhere", nil)] {
            let answer = try await server.exchange(get(path), answers: 1).answers[0]
            #expect(answer.header("Retry-After") == seconds, "\(path)")
            #expect(answer.head.lowercased().components(separatedBy: "retry-after").count <= 2)
        }
    }

    @Test func `headers about limits are on 2xx and 429 only, and never replace the handler's`() async throws
    {
        let server = try makeServer()
        for (status, isLimited) in [(200, true), (404, false), (429, true)] {
            let answer = try await server.exchange(get("/limited/\(status)"), answers: 1).answers[0]
            #expect(answer.status == status && (answer.header("RateLimit") == "r") == isLimited)
            #expect(answer.header("X-Own") == "handler")
        }
    }

    @Test func `every error has its problem as the only problem`() async throws {
        let server = try makeServer()
        let answer = try await server.exchange(get("/503"), answers: 1).answers[0]
        #expect(
            answer.body
                == #"{"error":{"code":"no","message":"no"},"problems":[{"code":"no","message":"no"}]}"#)
        let field = HTTPResponse.error(status: 422, code: "c", message: "m", field: "f")
        #expect(
            String(decoding: field.body, as: UTF8.self)
                == #"{"error":{"code":"c","message":"m","field":"f"},"problems":[{"code":"c","message":"m","field":"f"}]}"#
        )
    }

    @Test func `a note about an answer has the pattern of its route, not the path`() async throws {
        let notes = Mutex<[String]>([])
        var routes = HTTPRoutes()
        routes.on(.get, path: "/users/{id}") { _ in .text("ann") }
        let server = try HTTPServer(name: "test", host: "127.0.0.1", port: 0, routes: routes) { note in
            notes.withLock { $0.append("\(note.requestID) \(note.route ?? "none") \(note.status)") }
        }
        let port = server.port
        try await onThread {
            let peer = try RawPeer(port: port)
            peer.send(
                get("/users/ann", headers: "X-Request-Id: a\r\n") + get("/x", headers: "X-Request-Id: b\r\n"))
            #expect(peer.answers(atLeast: 2).map(\.status) == [200, 404])
        }
        #expect(notes.withLock { $0 } == ["a GET /users/{id} 200", "b none 404"])
        await server.stop(by: .now())
    }
}
