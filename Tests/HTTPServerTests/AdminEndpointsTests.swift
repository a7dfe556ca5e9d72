import HTTPServer
import Synchronization
import Telemetry
import Testing

/// The endpoints for operators, and the counts of a listener.
struct AdminEndpointsTests {
    @Test func `the endpoints show whether the process is alive and ready, and the reasons if not`()
        async throws
    {
        let metrics = Metrics()
        metrics.counter("flotilla_test_things_total", help: "Things.").add(3)
        let readinessProblems = Mutex<[String]>([])
        let server = try TestServer { routes in
            AdminEndpoints(metrics: metrics) { readinessProblems.withLock { $0 } }.add(to: &routes)
        }
        func get(_ path: String) async throws -> RawAnswer? {
            try await server.exchange("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n", answers: 1).answers.first
        }
        #expect(try await get("/livez")?.status == 200)
        #expect(try await get("/readyz")?.body == "ready\n")
        readinessProblems.withLock {
            $0 = ["store of lane 3 is being restored", "kafka has been unreachable for 40 s"]
        }
        let answer = try await get("/readyz")
        #expect(answer?.status == 503)
        #expect(
            answer?.body
                == "not ready\nstore of lane 3 is being restored\nkafka has been unreachable for 40 s\n")
        #expect(try await get("/livez")?.status == 200)
        let page = try await get("/metrics")
        #expect(page?.header("content-type") == "text/plain; version=0.0.4; charset=utf-8")
        #expect(page?.body.contains("flotilla_test_things_total 3\n") == true)
    }

    @Test func `a listener counts its answers and refusals`() async throws {
        let server = try TestServer()
        _ = try await server.exchange(
            "GET /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /x HTTP/1.1\r\nHost: x\r\n\r\n", answers: 2)
        _ = try await server.exchange("GET /hello HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n")
        let page = server.metrics.render()
        #expect(page.contains(#"flotilla_http_requests_total{listener="test",status="2xx"} 1"#))
        #expect(page.contains(#"flotilla_http_requests_total{listener="test",status="4xx"} 2"#))
        #expect(page.contains(#"flotilla_http_refusals_total{listener="test",reason="bad_request"} 1"#))
        #expect(page.contains("flotilla_http_connections{listener=\"test\"}"))
    }
}
