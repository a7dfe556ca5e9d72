import Foundation
import ProcessTesting
import Synchronization
import Testing

@testable import Broker

/// The answers to Produce: the offsets of valid batches, the errors of wrong ones, and that no answer comes before the
/// sync.
struct ProduceTests {
    @Test func `records get their offsets in the order in which they were sent`() throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.createTopic("t")
            for number: Int32 in 0..<5 {
                let acks: Int16 = number % 2 == 0 ? -1 : 1
                client.produce(to: "t", value: "v", acks: acks, correlation: number)
                let answer = try produceAnswer(in: try client.receive().body)
                #expect(answer.error == ErrorCode.none)
                #expect(answer.offset == Int64(number))
            }
        }
    }

    @Test func `an invalid batch, topic or number of acks is refused with its error`() throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.createTopic("t")
            var damaged = BatchBuilder.batch([NewRecord(key: nil, value: [1, 2, 3])], time: 1)
            damaged[damaged.count - 1] ^= 1
            client.produce(to: "t", batch: damaged, correlation: 1)
            #expect(try produceAnswer(in: try client.receive().body).error == .corruptMessage)
            client.produce(to: "missing", value: "v", correlation: 2)
            #expect(try produceAnswer(in: try client.receive().body).error == .unknownTopicOrPartition)
            // Kafka knows the numbers of acks -1, 0 and 1.
            client.produce(to: "t", value: "v", acks: 5, correlation: 3)
            #expect(try produceAnswer(in: try client.receive().body).error == .invalidRequiredAcks)
            // Only the coordinators write to their topics.
            client.produce(to: CoordinatorTopic.groups, value: "v", correlation: 4)
            #expect(try produceAnswer(in: try client.receive().body).error == .invalidTopic)
            client.produce(to: "t", batch: [], correlation: 5)
            #expect(try produceAnswer(in: try client.receive().body).error == .corruptMessage)
        }
    }

    /// A disk whose syncs wait while it is slow.
    private final class SlowDisk: Sendable {
        private let state = Mutex((isSlow: false, waiting: 0))

        /// The number of syncs that began to wait.
        var waitingSyncs: Int { state.withLock { $0.waiting } }

        var disk: Disk {
            Disk { [self] operation, _, _ in
                guard operation == .sync else { return nil }
                state.withLock { $0.waiting += $0.isSlow ? 1 : 0 }
                while state.withLock({ $0.isSlow }) { usleep(500) }
                return nil
            }
        }

        func setSlow(_ isSlow: Bool) { state.withLock { $0.isSlow = isSlow } }
    }

    @Test func `a producer, and another that repeats its batch, are answered only after the sync`()
        async throws
    {
        let slow = SlowDisk()
        let broker = try TestBroker(temporarySettings { $0.disk = slow.disk })
        defer { broker.running.stop() }
        let (first, second, other) = try (broker.client(), broker.client(), broker.client())
        _ = try first.createTopic("t")
        slow.setSlow(true)
        defer { slow.setSlow(false) }
        let batch = BatchBuilder.batch(
            [NewRecord(key: nil, value: [1])], time: 1, producerID: 7, producerEpoch: 0, baseSequence: 0)
        first.produce(to: "t", batch: batch, correlation: 1)
        try await eventually("a sync that waits") { slow.waitingSyncs > 0 }
        second.produce(to: "t", batch: batch, correlation: 2)
        // When the broker has answered two later requests, it has also read the second batch.
        for correlation: Int32 in 3..<5 {
            other.askVersions(correlation: correlation)
            _ = try other.receive()
        }
        #expect(!first.hasAnswer && !second.hasAnswer)
        slow.setSlow(false)
        for client in [first, second] {
            let answer = try produceAnswer(in: try client.receive().body)
            #expect(answer.error == ErrorCode.none && answer.offset == 0)
        }
    }

    // Otherwise no marker would ever end the transaction, and readers of committed records would wait forever.
    @Test func `a transactional batch without a transaction is refused`() throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.createTopic("t")
            let batch = BatchBuilder.batch(
                [NewRecord(key: nil, value: [1])], time: 1, producerID: 1, producerEpoch: 0, baseSequence: 0,
                transactional: true)
            client.produce(to: "t", batch: batch, correlation: 1)
            #expect(try produceAnswer(in: try client.receive().body).error == .invalidTxnState)
        }
    }
}
