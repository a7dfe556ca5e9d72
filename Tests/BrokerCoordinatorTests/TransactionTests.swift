import Testing

@testable import Broker

/// The course of a transaction: added partitions and groups, the decision, its markers, and its end.
/// `TransactionDriver` holds the coordinator's log and the partitions. All producers have the transactional id "x".
struct TransactionTests {
    @Test func `the end of a transaction is answered when its markers are written`() throws {
        let driver = TransactionDriver()
        driver.marksAtOnce = false
        let producer = try #require(driver.producer())
        #expect(driver.ask(producer.add())?.error == ErrorCode.none)
        #expect(driver.ask(producer.addOffsets())?.error == ErrorCode.none)
        let end = driver.send(producer.end(commits: true))
        #expect(driver.take(end) == nil)
        #expect(
            driver.unwrittenMarkers.map(\.markers) == [
                TransactionMarkers(
                    producerID: producer.id, epoch: producer.epoch, commits: true,
                    partitions: [.init(topic: "t", partition: 0)], groups: ["g"])
            ])
        driver.writeNextMarkers()
        #expect(driver.take(end)?.error == ErrorCode.none)
        // A repetition of the decision succeeds, the opposite decision does not.
        #expect(driver.ask(producer.end(commits: true))?.error == ErrorCode.none)
        #expect(driver.ask(producer.end(commits: false))?.error == .invalidTxnState)
    }

    @Test func `the second producer of a transactional id fences the first`() throws {
        let driver = TransactionDriver()
        let first = try #require(driver.producer())
        #expect(driver.ask(first.add())?.error == ErrorCode.none)
        // The coordinator first aborts the open transaction, with the next epoch.
        #expect(driver.ask(Producer.initialize(transactionalID: "x"))?.error == .concurrentTransactions)
        #expect(driver.writtenMarkers.map(\.commits) == [false])
        #expect(driver.writtenMarkers.map(\.epoch) == [first.epoch + 1])
        let second = try #require(driver.producer())
        #expect(second.id == first.id)
        #expect(second.epoch == first.epoch + 2)
        #expect(driver.ask(first.add())?.error == .producerFenced)
        #expect(driver.ask(first.add(version: 1))?.error == .invalidProducerEpoch)
        #expect(driver.ask(second.add())?.error == ErrorCode.none)
    }

    @Test func `an open transaction is aborted after its timeout`() throws {
        let driver = TransactionDriver()
        // Its transactions time out after 10 s.
        let producer = try #require(driver.producer())
        _ = driver.ask(producer.add())
        driver.pass(milliseconds: 9_000)
        #expect(driver.writtenMarkers.isEmpty)
        driver.pass(milliseconds: 1_500)
        #expect(driver.writtenMarkers.map(\.commits) == [false])
        #expect(driver.ask(producer.end(commits: true))?.error == .producerFenced)
    }

    @Test func `a clock that jumps ahead lets no transactional id expire and shortens no timeout`() throws {
        let dayMilliseconds: Int64 = 86_400_000
        let driver = TransactionDriver()
        let producer = try #require(driver.producer())
        driver.clockLeadMilliseconds = 30 * dayMilliseconds
        // Two hours, so that the coordinator has looked for unused transactional ids.
        driver.pass(milliseconds: 7_200_000)
        #expect(driver.ask(producer.add())?.error == ErrorCode.none)
        driver.clockLeadMilliseconds = 60 * dayMilliseconds
        driver.restart()
        #expect(driver.coordinator.transactions["x"]?.facts.state == .ongoing)
    }

    @Test func `a prepared decision is carried out after a restart`() throws {
        let driver = TransactionDriver()
        let producer = try #require(driver.producer())
        _ = driver.ask(producer.add())
        driver.marksAtOnce = false
        _ = driver.send(producer.end(commits: true))
        driver.restart()
        #expect(driver.unwrittenMarkers.map(\.markers.commits) == [true])
        driver.writeNextMarkers()
        #expect(driver.ask(producer.end(commits: true))?.error == ErrorCode.none)
    }
}
