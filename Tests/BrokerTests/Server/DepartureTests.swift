import Telemetry
import Testing

@testable import Broker

/// Clients and brokers that leave while answers are owed.
struct DepartureTests {
    private func join(_ client: RawClient, correlation: Int32) {
        client.send(.joinGroup, 3, correlation: correlation) { w in
            w.string("g")
            w.int32(10_000)
            w.int32(10_000)
            w.string("")
            w.string("consumer")
            w.array(["range"]) { w, name in
                w.string(name)
                w.bytes([1])
            }
        }
    }

    private func commit(_ client: RawClient, correlation: Int32) {
        client.send(.offsetCommit, 2, correlation: correlation) { w in
            w.string("committers")
            w.int32(-1)
            w.string("")
            w.int64(-1)
            w.topics([TopicPartitions(topic: "t", partitions: [0 as Int32])]) { w, partition in
                w.int32(partition)
                w.int64(1)
                w.nullableString(nil)
            }
        }
    }

    private func isAlive(_ broker: TestBroker) throws -> Bool {
        let client = try broker.client()
        client.askVersions(correlation: 77)
        return try client.receive().correlation == 77
    }

    @Test func `a client that leaves while its records are synced harms no other client`() throws {
        try withBroker { broker in
            let stays = try broker.client()
            _ = try stays.create("t")
            for _ in 0..<50 {
                let leaves = try broker.client()
                for number: Int32 in 0..<20 { leaves.produce("t", "v", correlation: number) }
            }
            // Behind all of theirs that came so far, so what they are owed is decided.
            stays.produce("t", "v", correlation: 1)
            #expect(try produced(try stays.receive().body).error == ErrorCode.none)
            #expect(try isAlive(broker))
        }
    }

    @Test func `a client that leaves while its group forms harms no other client`() throws {
        try withBroker { broker in
            var leaves: RawClient? = try broker.client()
            let stays = try broker.client()
            try waitUntil { broker.shows("flotilla_broker_connections 2") }
            if let leaves { join(leaves, correlation: 1) }
            leaves = nil
            try waitUntil { broker.shows("flotilla_broker_connections 1") }
            // Both are answered together, when the group has waited long enough for more members.
            join(stays, correlation: 3)
            #expect(try stays.receive().correlation == 3)
            #expect(try isAlive(broker))
        }
    }

    @Test func `a broker stops while answers are owed`() throws {
        for _ in 0..<5 {
            let broker = try TestBroker(BrokerSettings.temporary())
            let clients = try (0..<4).map { _ in try broker.client() }
            _ = try clients[0].create("t")
            clients[1].fetch("t", from: 0, wait: 60_000, bytesMin: 1 << 20, correlation: 1)
            join(clients[2], correlation: 1)
            try waitUntil { broker.shows("flotilla_broker_parked_fetches 1") }
            for number: Int32 in 0..<50 { clients[0].produce("t", "v", correlation: number) }
            // No client waits for these at the end, so one of them is cut off before the sync.
            for number: Int32 in 0..<200 { commit(clients[3], correlation: number) }
            _ = try clients[3].receive()
            broker.broker.stop()
            #expect(try clients[1].isClosedByPeer())
            #expect(try withBroker(nil, isAlive))
        }
    }

    @Test func `clients that do not read get small answers, and still get on`() throws {
        let settings = try temporary { $0.limits.unsentBytesMax = 16 << 20 }
        try withBroker(settings) { broker in
            let writer = try broker.client()
            _ = try writer.create("t", settings: ["max.message.bytes": "2000000", "retention.ms": "-1"])
            let value = String(repeating: "x", count: 1_000_000)
            for number: Int32 in 0..<16 {
                writer.produce("t", value, correlation: number)
                #expect(try produced(try writer.receive().body).error == ErrorCode.none)
            }
            let clients = try (0..<8).map { _ in try broker.client() }
            for client in clients {
                client.fetch("t", from: 0, wait: 0, bytesMax: 16 << 20, correlation: 1)
                // Answered one after the other: the connection beside it is served behind it.
                writer.askVersions(correlation: 2)
                _ = try writer.receive()
            }
            try waitUntil { broker.shows("flotilla_broker_requests_total{api=\"fetch\"} 8") }
            try waitUntil { !broker.shows("flotilla_broker_unsent_bytes 0") }
            let line = broker.metrics.render().split(separator: "\n")
                .first { $0.hasPrefix("flotilla_broker_unsent_bytes ") }
            let unsent = try #require(line.flatMap { Double($0.split(separator: " ")[1]) })
            #expect(unsent < 20_000_000)
            let last = try fetched(try #require(clients.last).receive().body)
            #expect(last.records.count > 1_000_000)
        }
    }
}
