import Telemetry
import Testing

@testable import Broker

/// Clients that disconnect, and brokers that stop, before requests are answered. `RawClient` sends requests without
/// waiting for their answers, and disconnects when it is released.
struct DepartureTests {
    /// Sends a join of the group "g".
    private func join(_ client: RawClient, correlation: Int32) {
        client.send(.joinGroup, version: 3, correlation: correlation) { writer in
            writer.string("g")  // group_id
            writer.int32(10_000)  // session_timeout_ms
            writer.int32(10_000)  // rebalance_timeout_ms
            writer.string("")  // member_id
            writer.string("consumer")  // protocol_type
            writer.array(["range"]) { writer, name in
                writer.string(name)
                writer.bytes([1])
            }
        }
    }

    /// Sends a commit of an offset.
    private func commit(_ client: RawClient, correlation: Int32) {
        client.send(.offsetCommit, version: 2, correlation: correlation) { writer in
            writer.string("committers")  // group_id
            writer.int32(-1)  // generation_id
            writer.string("")  // member_id
            writer.int64(-1)  // retention_time_ms
            writer.topics([TopicPartitions(topic: "t", partitions: [0 as Int32])]) { writer, partition in
                writer.int32(partition)  // partition_index
                writer.int64(1)  // committed_offset
                writer.nullableString(nil)  // committed_metadata
            }
        }
    }

    /// Returns whether the broker answers a new client.
    private func answersNewClient(_ broker: TestBroker) throws -> Bool {
        let client = try broker.client()
        client.askVersions(correlation: 77)
        return try client.receive().correlation == 77
    }

    @Test func `a client that leaves while its records are synced harms no other client`() throws {
        try withBroker { broker in
            let remaining = try broker.client()
            _ = try remaining.createTopic("t")
            for _ in 0..<50 {
                let leaving = try broker.client()
                for number: Int32 in 0..<20 { leaving.produce(to: "t", value: "v", correlation: number) }
            }
            // This batch is behind those of the clients that left, so the broker has handled their batches when it
            // answers.
            remaining.produce(to: "t", value: "v", correlation: 1)
            #expect(try produceAnswer(in: try remaining.receive().body).error == ErrorCode.none)
            #expect(try answersNewClient(broker))
        }
    }

    @Test func `a client that leaves while its group forms harms no other client`() throws {
        try withBroker { broker in
            var leaving: RawClient? = try broker.client()
            let remaining = try broker.client()
            try waitUntil { broker.hasMetric("flotilla_broker_connections 2") }
            if let leaving { join(leaving, correlation: 1) }
            leaving = nil
            try waitUntil { broker.hasMetric("flotilla_broker_connections 1") }
            // The broker answers both members together, after the group has waited for more members.
            join(remaining, correlation: 3)
            #expect(try remaining.receive().correlation == 3)
            #expect(try answersNewClient(broker))
        }
    }

    @Test func `a broker stops while requests wait for answers`() throws {
        for _ in 0..<5 {
            let broker = try TestBroker(BrokerSettings.temporary())
            let clients = try (0..<4).map { _ in try broker.client() }
            _ = try clients[0].createTopic("t")
            clients[1].fetch("t", from: 0, waitMilliseconds: 60_000, bytesMin: 1 << 20, correlation: 1)
            join(clients[2], correlation: 1)
            try waitUntil { broker.hasMetric("flotilla_broker_parked_fetches 1") }
            for number: Int32 in 0..<50 { clients[0].produce(to: "t", value: "v", correlation: number) }
            // The test awaits only the first answer, so some of these commits are not synced when the broker stops.
            for number: Int32 in 0..<200 { commit(clients[3], correlation: number) }
            _ = try clients[3].receive()
            broker.running.stop()
            #expect(try clients[1].isClosedByPeer())
            #expect(try withBroker(nil, answersNewClient), "the process can start another broker")
        }
    }

    @Test func `clients that do not read get small answers, and their reading continues`() throws {
        let settings = try temporarySettings { $0.limits.unsentBytesMax = 16 << 20 }
        try withBroker(settings) { broker in
            let writer = try broker.client()
            _ = try writer.createTopic("t", settings: ["max.message.bytes": "2000000", "retention.ms": "-1"])
            let value = String(repeating: "x", count: 1_000_000)
            for number: Int32 in 0..<16 {
                writer.produce(to: "t", value: value, correlation: number)
                #expect(try produceAnswer(in: try writer.receive().body).error == ErrorCode.none)
            }
            let clients = try (0..<8).map { _ in try broker.client() }
            for client in clients {
                client.fetch("t", from: 0, waitMilliseconds: 0, bytesMax: 16 << 20, correlation: 1)
                // The answer on another connection shows that the fetch was handled.
                writer.askVersions(correlation: 2)
                _ = try writer.receive()
            }
            try waitUntil { broker.hasMetric("flotilla_broker_requests_total{api=\"fetch\"} 8") }
            try waitUntil { !broker.hasMetric("flotilla_broker_unsent_bytes 0") }
            let line = broker.metrics.render().split(separator: "\n")
                .first { $0.hasPrefix("flotilla_broker_unsent_bytes ") }
            let unsent = try #require(line.flatMap { Double($0.split(separator: " ")[1]) })
            // The 16 MB of the limit, and the last answer, which exceeds it by at most a few batches.
            #expect(unsent < 20_000_000)
            // A client above the limit still gets one batch, so that its reading continues.
            let lastAnswer = try fetchAnswer(in: try #require(clients.last).receive().body)
            #expect(lastAnswer.records.count > 1_000_000)
        }
    }
}
