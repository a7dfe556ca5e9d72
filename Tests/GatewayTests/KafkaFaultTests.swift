import Kafka
import KafkaTesting
import Lifecycle
import ProcessTesting
import Settings
import StageSupport
import Telemetry
import Testing
import Topics

@testable import Gateway

/// Answers during Kafka faults. The gateway never reports a record as stored when it may not be.
struct KafkaFaultTests {
    private func bench(
        _ change: (inout GatewaySettings) -> Void = { _ in }
    ) async throws -> (GatewayBench, MockCluster) {
        let cluster = try #require(MockCluster(brokers: 1))
        let layout = TopicLayout(prefix: "m.", lanes: 4, replication: 1)
        for topic in GatewayService.topics {
            cluster.createTopic(named: layout.name(of: topic), partitions: layout.partitionCount(of: topic))
        }
        var settings = KafkaSettings(brokers: cluster.brokers)
        settings.properties = [
            "topic.metadata.refresh.fast.interval.ms": "20", "retry.backoff.ms": "20",
            "reconnect.backoff.max.ms": "100",
        ]
        let bench = try await GatewayBench(settings, layout) { parameters in
            parameters.limits.acknowledgeMilliseconds = 1500
            change(&parameters)
        }
        return (bench, cluster)
    }

    @Test func `the gateway accepts nothing while Kafka is down, and accepts again afterwards`() async throws
    {
        let (bench, cluster) = try await bench()
        try await bench.startAndWait()
        #expect(try await bench.post(heartbeat()).status == 202)
        cluster.takeDown(broker: 1)
        for number in 0..<3 {
            let answer = try await bench.post(heartbeat())
            // The first request waits for its record. A later one may be refused at once, if `KafkaHealth` already
            // counts Kafka as lost.
            let isRefusedAtOnce = number > 0 && answer.code == "kafka_unreachable"
            #expect(answer.status == 503 && (answer.code == "not_stored" || isRefusedAtOnce))
            #expect(Int(answer.header("Retry-After") ?? "").map { (1...5).contains($0) } == true)
        }
        cluster.bringUp(broker: 1)
        try await eventually("acceptance") { try await bench.post(heartbeat()).status == 202 }
        #expect(bench.failures.withLock { $0 }.isEmpty)
        await bench.stop()
    }

    @Test func `requests get 503 as soon as all brokers are lost, long before their records time out`()
        async throws
    {
        let (bench, cluster) = try await bench { $0.limits.acknowledgeMilliseconds = 60_000 }
        try await bench.startAndWait()
        #expect(try await bench.post(heartbeat()).status == 202)
        // The broker holds the record when it stops.
        cluster.setRoundTripTime(ofBroker: 1, milliseconds: 60_000)
        async let waiting = bench.post(heartbeat())
        try await eventually("a request in flight") {
            bench.metrics.render().contains("flotilla_gateway_in_flight 1")
        }
        let lostAt = Instant.now()
        cluster.takeDown(broker: 1)
        let answer = try await waiting
        #expect(answer.status == 503 && answer.code == "not_stored")
        #expect(Int(answer.header("Retry-After") ?? "").map { (1...5).contains($0) } == true)
        let later = try await bench.post(heartbeat())
        #expect(later.status == 503 && later.code == "kafka_unreachable")
        #expect(Int(later.header("Retry-After") ?? "").map { (1...5).contains($0) } == true)
        // Two to three seconds, and more on a busy machine.
        #expect(Instant.now().milliseconds(since: lostAt) < 30_000)
        cluster.setRoundTripTime(ofBroker: 1, milliseconds: 0)
        cluster.bringUp(broker: 1)
        try await eventually("acceptance") { try await bench.post(heartbeat()).status == 202 }
        #expect(bench.failures.withLock { $0 }.isEmpty)
        await bench.stop()
    }

    @Test func `a record that the cluster refuses is not accepted, and the next one is`() async throws {
        let (bench, cluster) = try await bench()
        try await bench.startAndWait()
        let topicAuthorizationFailed: Int32 = 29
        cluster.failNext(.produce, with: topicAuthorizationFailed)
        let answer = try await bench.post(heartbeat())
        #expect(answer.status == 503 && answer.code == "not_stored")
        try await eventually("acceptance") { try await bench.post(heartbeat()).status == 202 }
        await bench.stop()
    }

    @Test func `beyond the limit of waiting requests the next one is refused at once`() async throws {
        let (bench, cluster) = try await bench {
            $0.limits.requestsWaitingMax = 4
            $0.limits.acknowledgeMilliseconds = 4000
        }
        try await bench.startAndWait()
        // The broker stays connected and does not answer. If it was down, all requests would be refused.
        cluster.setRoundTripTime(ofBroker: 1, milliseconds: 60_000)
        try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
            for _ in 0..<12 { group.addTask { try await bench.post(heartbeat()) } }
            var codes: [String] = []
            for try await answer in group {
                #expect(answer.status == 503)
                codes.append(answer.code ?? "")
            }
            // Four of the twelve wait, and get their answers last.
            #expect(codes.prefix(8).allSatisfy { $0 == "overloaded" }, "\(codes)")
            #expect(codes.suffix(4).allSatisfy { $0 == "not_stored" }, "\(codes)")
        }
        await bench.stop()
    }

    @Test func `a stop waits for the records in flight and answers their requests`() async throws {
        let (bench, cluster) = try await bench { $0.limits.acknowledgeMilliseconds = 20_000 }
        try await bench.startAndWait()
        // This is long enough to observe on a busy machine, and shorter than the limit of a stop.
        cluster.setRoundTripTime(ofBroker: 1, milliseconds: 4000)
        async let answer = bench.post(heartbeat())
        try await eventually("a request in flight") {
            bench.metrics.render().contains("flotilla_gateway_in_flight 1")
        }
        await bench.stop()
        #expect(try await answer.status == 202)
    }

    @Test func `without Kafka the gateway is alive but not ready, and gives the reasons`() async throws {
        var settings = GatewaySettings()
        settings.listen = HostPort(host: "127.0.0.1", port: 0)
        let directory = try TemporaryDirectory()
        let service = GatewayService(
            settings,
            in: StageEnvironment(
                cluster: Cluster(settings: KafkaSettings(brokers: ["127.0.0.1:1"])), layout: TopicLayout(),
                slot: try ProcessSlot.acquire(under: directory.path), sealingKeys: nil, catalog: { nil }))
        try await service.start(
            ServiceContext(log: .silent, metrics: .init()) { Issue.record("it gave up: \($0)") })
        let port = try #require(service.address?.port)
        let (alive, ready, report) = try await onThread {
            let peer = try HTTPPeer(port: port)
            return (
                try peer.exchange("GET", "/livez", headers: [], body: []),
                try peer.exchange("GET", "/readyz", headers: [], body: []),
                try peer.exchange("POST", "/v1/reports", headers: [], body: Array(heartbeat().utf8))
            )
        }
        #expect(alive.status == 200)
        #expect(ready.status == 503 && ready.body.contains("kafka does not answer"))
        #expect(ready.body.contains("the catalog has not been read to its end yet"))
        #expect(report.status == 503 && report.code == "not_ready")
        await service.stop(by: .now())
    }
}
