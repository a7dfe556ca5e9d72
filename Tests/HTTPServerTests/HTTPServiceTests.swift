import HTTPServer
import Lifecycle
import Telemetry
import Testing

struct HTTPServiceTests {
    @Test func `a listener starts, serves and stops as a part of a process`() async throws {
        var routes = HTTPRoutes()
        routes.on(.get, "/hello") { _ in .text("hello") }
        let service = HTTPService(name: "api", host: "127.0.0.1", port: 0, routes: routes)
        let metrics = Metrics()
        try await service.start(ServiceContext(log: .silent, metrics: metrics) { _ in })
        let port = try #require(service.address?.port)
        let answers = try await onThread {
            let peer = try RawPeer(port: port)
            peer.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
            return peer.answers(1)
        }
        #expect(answers.map(\.body) == ["hello"])
        #expect(metrics.render().contains(#"flotilla_http_requests_total{listener="api",status="2xx"} 1"#))
        await service.stop(by: .now().advanced(byMilliseconds: 5000))
        #expect(service.address == nil)
        await #expect(throws: (any Error).self) { try await onThread { _ = try RawPeer(port: port) } }
    }
}
