import Catalog
import CatalogRecords
import KafkaTesting
import Lifecycle
import ProcessTesting
import Telemetry
import Testing
import Topics

@testable import Gateway
@testable import HTTPServer
@testable import Kafka

/// The writer without a server. The test owns the replies.
struct ReportWriterTests {
    private static let caller = RequestCaller(
        key: APIKeyText.makeKey(app: "shop", role: .report, atMilliseconds: 0).record, app: shop,
        address: "127.0.0.1", peer: "127.0.0.1")

    /// Returns a reply and the slot that receives its response.
    private func makeReply() -> (HTTPReply, ReplySlot) {
        let slot = ReplySlot {}
        return (HTTPReply(slot: slot), slot)
    }

    private func makeHealth(on cluster: MockCluster, context: ServiceContext) throws -> KafkaHealth {
        let queries = try Cluster(settings: KafkaSettings(brokers: cluster.brokers)).makeQueries(
            log: .silent, metrics: context.metrics)
        return try KafkaHealth(queries, topic: "reports")
    }

    @Test func `a failed producer is replaced, and its requests get 503`() async throws {
        let cluster = try #require(MockCluster(brokers: 1))
        cluster.createTopic(named: "reports", partitions: 4)
        let context = ServiceContext(log: .silent, metrics: Metrics()) { Issue.record("it gave up: \($0)") }
        let kafkaHealth = try makeHealth(on: cluster, context: context)
        defer { kafkaHealth.stop() }
        let writer = try await onThread {
            try ReportWriter(
                KafkaSettings(brokers: cluster.brokers), topic: "reports", sealingKeys: nil,
                limits: GatewayLimits(), rates: CallerRates(limits: GatewayLimits()),
                pendingLimit: PendingRequestLimit(limits: GatewayLimits()),
                context: context,
                metrics: GatewayMetrics(context.metrics),
                clock: GatewayClock(), kafkaHealth: kafkaHealth)
        }
        cluster.setRoundTripTime(ofBroker: 1, milliseconds: 60_000)
        let (first, slot) = makeReply()
        #expect(writer.accept(Array(heartbeat().utf8), from: Self.caller, reply: first))
        try await onThread {
            writer.withProducer { producer in
                KafkaLibraryTestFunctions.raiseFatalError(
                    code: KafkaErrorCode.outOfOrderSequence.rawValue, in: producer.client.pointer)
            }
        }
        let (second, nextSlot) = makeReply()
        #expect(writer.accept(Array(heartbeat().utf8), from: Self.caller, reply: second))
        try await eventually("both answers") { slot.response != nil && nextSlot.response != nil }
        #expect(slot.response?.status == 503 && nextSlot.response?.status == 503)
        cluster.setRoundTripTime(ofBroker: 1, milliseconds: 0)
        try await eventually("acceptance") {
            let (reply, slot) = makeReply()
            #expect(writer.accept(Array(heartbeat().utf8), from: Self.caller, reply: reply))
            try await eventually("an answer") { slot.response != nil }
            return slot.response?.status == 202
        }
        await writer.stop(by: .now().advanced(byMilliseconds: 5000))
    }

    @Test func `a stopped writer takes over no body and reserves nothing for it`() async throws {
        let cluster = try #require(MockCluster(brokers: 1))
        cluster.createTopic(named: "reports", partitions: 4)
        let context = ServiceContext(log: .silent, metrics: Metrics()) { Issue.record("it gave up: \($0)") }
        let pendingLimit = PendingRequestLimit(limits: GatewayLimits())
        let kafkaHealth = try makeHealth(on: cluster, context: context)
        defer { kafkaHealth.stop() }
        let writer = try await onThread {
            try ReportWriter(
                KafkaSettings(brokers: cluster.brokers), topic: "reports", sealingKeys: nil,
                limits: GatewayLimits(), rates: CallerRates(limits: GatewayLimits()),
                pendingLimit: pendingLimit, context: context, metrics: GatewayMetrics(context.metrics),
                clock: GatewayClock(), kafkaHealth: kafkaHealth)
        }
        await writer.stop(by: .now())
        let (reply, slot) = makeReply()
        #expect(!writer.accept(Array(heartbeat().utf8), from: Self.caller, reply: reply))
        #expect(slot.response == nil && pendingLimit.pendingCount == 0)
    }

    @Test func `a lookup whose call is over is not searched`() async throws {
        let context = ServiceContext(log: .silent, metrics: Metrics()) { Issue.record("it gave up: \($0)") }
        let layout = TopicLayout(lanes: 4)
        // Nothing listens there, so a search would end as unavailable.
        let cluster = Cluster(settings: KafkaSettings(brokers: ["127.0.0.1:1"]))
        let id = try #require(SendID("r-1795809600000-3-0123456789abcdef01234567", lanes: 4))
        let result = try await onThread {
            let search = try LoopOwned<SendSearch>(thread: "lookups") {
                SendSearch(cluster: cluster, layout: layout, context: context, on: $0.loop)
            }
            let result = search.perform { $0.find(id, of: "shop", from: .end, by: .now()) }
            search.stop { $0.close() }
            return result
        }
        guard case .timedOut = result else {
            Issue.record("\(String(describing: result))")
            return
        }
    }

    @Test func `beyond the limit a refusal is sent at once and closes its connection`() async throws {
        let loop = try EventLoop(name: "test")
        try loop.start()
        let heldBack = DelayedRefusals(on: loop, countMax: 2)
        let replies = (0..<3).map { _ in makeReply() }
        for (reply, _) in replies {
            heldBack.send(.text("no", status: 401), on: reply, afterMilliseconds: 200)
        }
        try await eventually("the last") { replies[2].1.response != nil }
        #expect(replies[2].1.response?.closesConnection == true)
        try await eventually("the others") { replies.allSatisfy { $0.1.response != nil } }
        #expect(replies[0].1.response?.closesConnection == false)
        try await onThread { loop.stop() }
    }
}
