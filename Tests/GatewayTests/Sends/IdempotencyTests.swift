import FanOut
import Foundation
import Lifecycle
import ProcessTesting
import Sends
import Simulation
import StageSupport
import Telemetry
import Testing
import Topics

@testable import Gateway

/// Repeated requests at several gateways, with the planner that decides about them. Gateways do not know each other's
/// requests: the same key gives the same id at each of them, and the planner compares the bodies.
struct IdempotencyTests {
    private static let topics = Array(Set(GatewayService.topics + FanOutService.topics))

    /// Starts a planner on the cluster of a gateway.
    private func startPlanner(beside bench: GatewayBench) async throws -> FanOutService {
        var settings = FanOutSettings()
        settings.sessionMilliseconds = 6000
        let service = FanOutService(
            settings, in: bench.environment, loops: [.planner], settleMilliseconds: 0,
            onPlannerStep: { _ in })
        try await service.start(ServiceContext(log: .silent, metrics: Metrics()) { _ in })
        try await eventually("the planner") { service.readinessProblems.isEmpty }
        return service
    }

    @Test
    func `retries at two gateways have one id, and another body is refused with it`() async throws {
        let first = try await GatewayBench.forSends(
            topics: Self.topics)
        let second = try await first.another()
        let planner = try await startPlanner(beside: first)
        let count = trialCount(base: 100)
        let (ports, key) = ([first.port, second.port], try #require(first.keys["shop/send"]))
        func post(toGateway gateway: Int, score: Int, status: Int) async throws -> [String] {
            try await onThread {
                let peer = try HTTPPeer(port: ports[gateway])
                return try (0..<count).map { number in
                    let answer = try peer.exchange(
                        "POST", "/v1/sends",
                        headers: ["Authorization: Bearer \(key)", "Idempotency-Key: goal-\(number)"],
                        body: Array(SendsServiceTests.update(ofGroup: "m\(number % 7)", score: score).utf8))
                    #expect(answer.status == status, "\(answer.body)")
                    if status == 409 { #expect(answer.code == "idempotency_conflict") }
                    return try answer.member("sendId")
                }
            }
        }
        async let firstIDs = post(toGateway: 0, score: 1, status: 202)
        async let secondIDs = post(toGateway: 1, score: 1, status: 202)
        let ids = try await firstIDs
        #expect(try await secondIDs == ids)
        #expect(Set(ids).count == count)
        #expect(try await post(toGateway: 1, score: 2, status: 409) == ids)
        await planner.stop(by: .now().advanced(byMilliseconds: 10_000))
        await second.stop()
        await first.stop()
    }

    @Test func `every call refuses another body under its key`() async throws {
        let bench = try await GatewayBench.forSends(topics: Self.topics)
        let planner = try await startPlanner(beside: bench)
        func post(_ path: String, _ body: String) async throws -> HTTPAnswer {
            try await bench.call("POST", path, body: body, headers: ["Idempotency-Key: k1"])
        }
        let update = SendsServiceTests.update()
        let accepted = try await post("/v1/sends", update)
        #expect(accepted.status == 202 && accepted.body.contains(#""verdict":"planned""#), "\(accepted.body)")
        let conflicting = try await post("/v1/sends", SendsServiceTests.update(score: 9))
        #expect(conflicting.status == 409 && conflicting.code == "idempotency_conflict")
        #expect(conflicting.field == "Idempotency-Key")
        #expect(try conflicting.header("Location") == "/v1/sends/\(accepted.member("sendId"))")

        // Netmera's calls.
        let path = NetmeraEndpoint.updatePath
        func netmeraUpdate(score: Int) -> String {
            #"{"groupId":"m2","action":"UPDATE","contentState":{"homeTeamScore":\#(score),"awayTeamScore":0,"matchStatus":"2nd"}}"#
        }
        #expect(try await post(path, netmeraUpdate(score: 1)).status == 202)
        #expect(try await post(path, netmeraUpdate(score: 2)).code == "idempotency_conflict")

        await planner.stop(by: .now().advanced(byMilliseconds: 10_000))
        await bench.stop()
    }

    @Test func `a send for a version is refused if the group has a newer one, with and without a key`()
        async throws
    {
        let bench = try await GatewayBench.forSends(topics: Self.topics)
        let planner = try await startPlanner(beside: bench)
        func post(_ body: String, key: String?) async throws -> HTTPAnswer {
            try await bench.call(
                "POST", "/v1/sends", body: body, headers: key.map { ["Idempotency-Key: \($0)"] } ?? [])
        }
        let first = try await post(SendsServiceTests.update(), key: "k1")
        let version = try #require(Int(try first.member("version")))
        func update(score: Int) -> String {
            SendsServiceTests.update(score: score).adding(member: "ifVersion", value: "\(version)")
        }
        let next = try await post(update(score: 2), key: nil)
        #expect(next.status == 202, "\(next.body)")
        for key in [nil, "k2", "k2"] {
            let refused = try await post(update(score: 3), key: key)
            #expect(refused.status == 409 && refused.code == "newer_state", "\(refused.body)")
            let id = try refused.member("sendId")
            let progress = try await bench.call("GET", "/v1/sends/\(id)", key: "shop/read")
            #expect(try progress.member("verdict") == "newer_state", "\(progress.body)")
        }
        let start = SendsServiceTests.start().adding(member: "ifVersion", value: "1")
        #expect(try await post(start, key: nil).code == "not_allowed")
        // The three sends for the older version, and the start.
        #expect(
            bench.metrics.render().contains(
                #"flotilla_gateway_requests_total{kind="send",outcome="refused"} 4"#))
        await planner.stop(by: .now().advanced(byMilliseconds: 10_000))
        await bench.stop()
    }

    @Test func `without a planner a send with a key is accepted after half a second`() async throws {
        let bench = try await GatewayBench.forSends()
        let headers = ["Idempotency-Key: k"]
        let began = Instant.now()
        let accepted = try await bench.call(
            "POST", "/v1/sends", body: SendsServiceTests.update(), headers: headers)
        #expect(accepted.status == 202 && !accepted.body.contains("verdict"), "\(accepted.body)")
        #expect(Instant.now().milliseconds(since: began) >= GatewayLimits.plannerReplyMilliseconds)
        let other = SendsServiceTests.update(score: 9)
        let again = try await bench.call("POST", "/v1/sends", body: other, headers: headers)
        #expect(try again.status == 202 && again.member("sendId") == accepted.member("sendId"))
        await bench.stop()
    }
}
