import Testing

@testable import Broker

/// Producer ids and epochs: unique ids, the next epoch after an error, and fencing. A producer with a newer epoch of
/// the same transactional id fences the older ones: their requests are refused.
struct ProducerIDTests {
    /// The last epoch that a producer gets. The epoch above it is kept for the markers that abort its transaction.
    private static let lastEpoch = Int16.max - 1

    @Test func `no producer id is given twice across restarts`() {
        var settings = TransactionSettings()
        // Small, so that new blocks of ids are reserved often.
        settings.producerIDBlock = 3
        let driver = TransactionDriver(settings)
        var ids: [Int64] = []
        for round in 0..<20 {
            if round % 5 == 0 { driver.restart() }
            let answer = driver.ask(Producer.initialize(transactionalID: nil))
            guard let producer = answer?.producer else { continue }
            ids.append(producer.id)
            #expect(producer.epoch == 0)
        }
        #expect(ids.count == 20)
        #expect(Set(ids).count == 20)
    }

    @Test func `no producer id is given before its block is durable`() {
        let driver = TransactionDriver()
        driver.storesAtOnce = false
        let waiting = (0..<2).map { _ in driver.send(Producer.initialize(transactionalID: nil)) }
        // One append reserves the block for both.
        #expect(driver.unstoredAppends.count == 1)
        #expect(driver.take(waiting[0]) == nil)
        driver.failNext()
        #expect(
            waiting.map { driver.take($0)?.error } == [.coordinatorNotAvailable, .coordinatorNotAvailable])
        let retried = driver.send(Producer.initialize(transactionalID: nil))
        driver.storeNext()
        #expect(driver.take(retried)?.producer?.id == 0)
    }

    @Test func `a producer moves itself to the next epoch, and gets the same answer if it asks again`() throws
    {
        let driver = TransactionDriver()
        let producer = try #require(driver.producer())
        let second = try #require(driver.ask(producer.nextEpoch())?.producer)
        #expect(second == Producer(id: producer.id, epoch: producer.epoch + 1))
        #expect(driver.ask(producer.nextEpoch())?.producer == second)
        let third = try #require(driver.ask(second.nextEpoch())?.producer)
        #expect(third.epoch == producer.epoch + 2)
        #expect(driver.ask(producer.nextEpoch())?.error == .producerFenced)
        // Before version 4 of InitProducerId, clients do not know the error PRODUCER_FENCED.
        #expect(driver.ask(producer.nextEpoch(version: 3))?.error == .invalidProducerEpoch)
        var stranger = third
        stranger.id += 1
        #expect(driver.ask(stranger.nextEpoch())?.error == .producerFenced)
    }

    @Test func `a producer that was fenced by another does not get a next epoch`() throws {
        let driver = TransactionDriver()
        let first = try #require(driver.producer())
        _ = try #require(driver.producer())
        #expect(driver.ask(first.nextEpoch())?.error == .producerFenced)
    }

    @Test func `a producer whose id was forgotten gets a new one`() throws {
        let driver = TransactionDriver()
        let first = try #require(driver.producer())
        // A transactional id without use expires after seven days.
        driver.pass(milliseconds: 8 * 86_400_000)
        #expect(driver.coordinator.transactions.isEmpty)
        driver.restart()
        #expect(driver.coordinator.transactions.isEmpty)
        #expect(driver.ask(first.add())?.error == .invalidProducerIDMapping)
        let second = try #require(driver.ask(first.nextEpoch())?.producer)
        #expect(second.id != first.id)
    }

    @Test func `an exhausted epoch brings a new producer id`() throws {
        let driver = TransactionDriver()
        var producer = try #require(driver.producer())
        let first = producer
        while producer.epoch < Self.lastEpoch {
            producer = try #require(driver.ask(producer.nextEpoch())?.producer)
        }
        #expect(producer.id == first.id)
        let rotated = try #require(driver.ask(producer.nextEpoch())?.producer)
        #expect(rotated.id != first.id)
        #expect(rotated.epoch == 0)
        // If the answer was lost, the old owner asks again and gets the same answer.
        #expect(driver.ask(producer.nextEpoch())?.producer == rotated)
        driver.restart()
        #expect(driver.ask(producer.nextEpoch())?.producer == rotated)
    }

    @Test func `a producer with the last epoch can be fenced, and its successor has a new id`() throws {
        let driver = TransactionDriver()
        var producer = try #require(driver.producer())
        while producer.epoch < Self.lastEpoch {
            producer = try #require(driver.ask(producer.nextEpoch())?.producer)
        }
        _ = driver.ask(producer.add())
        #expect(driver.ask(Producer.initialize(transactionalID: "x"))?.error == .concurrentTransactions)
        #expect(driver.writtenMarkers.last?.epoch == .max)
        let next = try #require(driver.producer())
        #expect(next.id != producer.id)
        #expect(next.epoch == 0)
    }

    @Test func `an open transaction admits batches and offsets only for its partitions and groups`() throws {
        let driver = TransactionDriver()
        let producer = try #require(driver.producer())
        let addedPartition = PartitionID(topic: "t", partition: 0)
        let owner = RequestingProducer(transactionalID: "x", id: producer.id, epoch: producer.epoch)
        func refusal(epoch: Int16, partition: PartitionID) -> ErrorCode? {
            driver.coordinator.refusal(
                of: .init(transactionalID: "x", id: producer.id, epoch: epoch), partition: partition)
        }
        #expect(refusal(epoch: producer.epoch, partition: addedPartition) == .invalidTxnState)
        _ = driver.ask(
            producer.add(topic: addedPartition.topic, partition: addedPartition.partition))
        _ = driver.ask(producer.addOffsets("g"))
        #expect(refusal(epoch: producer.epoch, partition: addedPartition) == nil)
        #expect(
            refusal(epoch: producer.epoch, partition: .init(topic: "t", partition: 1)) == .invalidTxnState)
        #expect(refusal(epoch: producer.epoch + 1, partition: addedPartition) == .invalidProducerEpoch)
        #expect(
            driver.coordinator.refusal(
                of: .init(transactionalID: "y", id: 1, epoch: 0), partition: addedPartition)
                == .invalidProducerIDMapping)
        #expect(driver.coordinator.refusal(of: owner, group: "g") == nil)
        #expect(driver.coordinator.refusal(of: owner, group: "h") == .invalidTxnState)
        _ = driver.ask(producer.end(commits: true))
        #expect(refusal(epoch: producer.epoch, partition: addedPartition) == .invalidTxnState)
    }
}
