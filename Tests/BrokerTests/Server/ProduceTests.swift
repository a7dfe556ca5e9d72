import Foundation
import ProcessTesting
import Synchronization
import Testing

@testable import Broker

/// The answers to producers.
struct ProduceTests {
    @Test func `records get the offsets in which they came`() throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.create("t")
            for number: Int32 in 0..<5 {
                client.produce("t", "v", acks: number % 2 == 0 ? -1 : 1, correlation: number)
                let answer = try produced(try client.receive().body)
                #expect(answer.error == ErrorCode.none)
                #expect(answer.offset == Int64(number))
            }
        }
    }

    @Test func `a flipped bit, a wrong topic and wrong acks are refused by their names`() throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.create("t")
            var batch = BatchBuilder.batch([NewRecord(key: nil, value: [1, 2, 3])], time: 1)
            batch[batch.count - 1] ^= 1
            client.produce("t", batch, correlation: 1)
            #expect(try produced(try client.receive().body).error == .corruptMessage)
            client.produce("u", "v", correlation: 2)
            #expect(try produced(try client.receive().body).error == .unknownTopicOrPartition)
            client.produce("t", "v", acks: 5, correlation: 3)
            #expect(try produced(try client.receive().body).error == .invalidRequiredAcks)
            client.produce(CoordinatorTopic.groups, "v", correlation: 4)
            #expect(try produced(try client.receive().body).error == .invalidTopic)
            client.produce("t", [], correlation: 5)
            #expect(try produced(try client.receive().body).error == .corruptMessage)
        }
    }

    /// Lets syncs wait, as a slow disk does.
    private final class SlowDisk: Sendable {
        private let state = Mutex((isSlow: false, waiting: 0))

        var waiting: Int { state.withLock { $0.waiting } }

        var disk: Disk {
            Disk { [self] operation, _, _ in
                guard operation == .sync else { return nil }
                state.withLock { $0.waiting += $0.isSlow ? 1 : 0 }
                while state.withLock({ $0.isSlow }) { usleep(500) }
                return nil
            }
        }

        func isSlow(_ isSlow: Bool) { state.withLock { $0.isSlow = isSlow } }
    }

    @Test func `a producer and the one that repeats its batch are both answered behind the sync`()
        async throws
    {
        let slow = SlowDisk()
        let broker = try TestBroker(temporary { $0.disk = slow.disk })
        defer { broker.broker.stop() }
        let (first, second, other) = try (broker.client(), broker.client(), broker.client())
        _ = try first.create("t")
        slow.isSlow(true)
        defer { slow.isSlow(false) }
        let batch = BatchBuilder.batch(
            [NewRecord(key: nil, value: [1])], time: 1, producerID: 7, producerEpoch: 0, baseSequence: 0)
        first.produce("t", batch, correlation: 1)
        try await eventually("a sync that waits") { slow.waiting > 0 }
        second.produce("t", batch, correlation: 2)
        // The broker has read on since, twice, and so it has read that too.
        for correlation: Int32 in 3..<5 {
            other.askVersions(correlation: correlation)
            _ = try other.receive()
        }
        #expect(!first.hasAnswer && !second.hasAnswer)
        slow.isSlow(false)
        for client in [first, second] {
            let answer = try produced(try client.receive().body)
            #expect(answer.error == ErrorCode.none && answer.offset == 0)
        }
    }

    /// The marker would never come, and committed readers would wait for ever.
    @Test func `a transactional batch without a transaction is refused`() throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.create("t")
            let batch = BatchBuilder.batch(
                [NewRecord(key: nil, value: [1])], time: 1, producerID: 1, producerEpoch: 0, baseSequence: 0,
                transactional: true)
            client.produce("t", batch, correlation: 1)
            #expect(try produced(try client.receive().body).error == .invalidTxnState)
        }
    }
}
