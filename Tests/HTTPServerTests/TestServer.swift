import Foundation
import HTTPServer
import Lifecycle
import Synchronization
import Telemetry

/// A server with the routes `/hello`, `/echo`, which answers with the body, and `/smuggled`, which no test should
/// reach. It records the calls of `/echo` and `/smuggled`.
final class TestServer: Sendable {
    let server: HTTPServer
    let metrics: Metrics
    private let log: CallLog

    /// The calls of the handlers, for example `echo 5` for a body of five bytes.
    final class CallLog: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }
    }

    init(
        limits: HTTPLimits = HTTPLimits(), tls: HTTPServerTLS? = nil,
        moreRoutes: (inout HTTPRoutes) -> Void = { _ in }
    ) throws {
        let log = CallLog()
        var routes = HTTPRoutes()
        routes.on(.get, path: "/hello") { _ in .text("hello") }
        routes.on(.get, path: "/smuggled") { _ in
            log.add("smuggled")
            return .text("smuggled")
        }
        routes.on(.post, path: "/echo") { request in
            log.add("echo \(request.body.count)")
            return HTTPResponse(body: request.body)
        }
        moreRoutes(&routes)
        self.log = log
        metrics = Metrics()
        server = try HTTPServer(
            name: "test", host: "127.0.0.1", port: 0, limits: limits, tls: tls, routes: routes,
            metrics: metrics)
    }

    deinit { server.stop(by: .now()) }

    var port: Int { server.port }
    var calls: [String] { log.all }

    /// Sends bytes on a new connection. Returns the answers until it closes, or until there are `answers` of them.
    func exchange(_ text: String, answers: Int = .max, within milliseconds: Int = 20_000) async throws -> (
        answers: [RawAnswer], isClosed: Bool
    ) {
        let port = port
        return try await onThread {
            let peer = try RawPeer(port: port)
            peer.send(text)
            let answers = peer.answers(atLeast: answers, within: milliseconds)
            return (answers, peer.isClosed)
        }
    }
}

extension RawAnswer {
    /// The error code of the answer, if the server's own code made it.
    var code: String? {
        let prefix = "{\"error\":{\"code\":\""
        guard body.hasPrefix(prefix) else { return nil }
        return String(body.dropFirst(prefix.count).prefix { $0 != "\"" })
    }
}
