import Testing

@testable import Broker

/// What producers are told.
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

    /// Nobody would write the marker, and committed readers would wait for it for ever.
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
