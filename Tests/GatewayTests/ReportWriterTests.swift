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

    private func makeHealth(on cluster: MockCluster, context: ServiceContext) throws -> KafkaHealth {
        let queries = try Cluster(settings: KafkaSettings(brokers: cluster.brokers)).makeQueries(
            log: .silent, metrics: context.metrics)
        return try KafkaHealth(queries, topic: "reports")
    }

    private func makeWriter(
        on cluster: MockCluster, context: ServiceContext, kafkaHealth: KafkaHealth,
        pendingLimit: PendingRequestLimit
    ) async throws -> ReportWriter {
        let settings = KafkaSettings(brokers: cluster.brokers)
        return try await onThread {
            try ReportWriter(
                settings, topic: "reports", sealingKeys: nil, limits: GatewayLimits(),
                rates: CallerRates(limits: GatewayLimits()), pendingLimit: pendingLimit, context: context,
                metrics: GatewayMetrics(context.metrics), clock: GatewayClock(), kafkaHealth: kafkaHealth)
        }
    }

    @Test func `a failed producer is replaced, and its requests get 503`() async throws {
        let cluster = try #require(MockCluster(brokers: 1))
        cluster.createTopic(named: "reports", partitions: 4)
        let context = ServiceContext(log: .silent, metrics: Metrics()) { Issue.record("it gave up: \($0)") }
        let kafkaHealth = try makeHealth(on: cluster, context: context)
        defer { kafkaHealth.stop() }
        let writer = try await makeWriter(
            on: cluster, context: context, kafkaHealth: kafkaHealth,
            pendingLimit: PendingRequestLimit(limits: GatewayLimits()))
        // The first record is still in flight when the producer fails.
        cluster.setRoundTripTime(ofBroker: 1, milliseconds: 60_000)
        let first = HeldReply()
        #expect(writer.accept(Array(heartbeat().utf8), from: Self.caller, reply: first.reply))
        try await onThread {
            writer.withProducer { producer in
                KafkaLibraryTestFunctions.raiseFatalError(
                    code: KafkaErrorCode.outOfOrderSequence.rawValue, in: producer.client.pointer)
            }
        }
        let second = HeldReply()
        #expect(writer.accept(Array(heartbeat().utf8), from: Self.caller, reply: second.reply))
        try await eventually("both answers") { first.response != nil && second.response != nil }
        #expect(first.response?.status == 503 && second.response?.status == 503)
        cluster.setRoundTripTime(ofBroker: 1, milliseconds: 0)
        try await eventually("acceptance") {
            let next = HeldReply()
            #expect(writer.accept(Array(heartbeat().utf8), from: Self.caller, reply: next.reply))
            try await eventually("an answer") { next.response != nil }
            return next.response?.status == 202
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
        let writer = try await makeWriter(
            on: cluster, context: context, kafkaHealth: kafkaHealth, pendingLimit: pendingLimit)
        await writer.stop(by: .now())
        let late = HeldReply()
        #expect(!writer.accept(Array(heartbeat().utf8), from: Self.caller, reply: late.reply))
        #expect(late.response == nil && pendingLimit.pendingCount == 0)
    }
}
