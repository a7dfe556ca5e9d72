import Testing

@testable import Broker

/// Offsets that a group commits in a transaction (TxnOffsetCommit). They are pending until the transaction commits, and
/// are then the group's offsets. A fetch with `stable: true` is refused while an offset is pending. By default,
/// producer 7 commits them. A check in a loop of two rounds is repeated after a restart.
struct GroupTransactionTests {
    @Test(arguments: [true, false])
    func `offsets of a transaction are pending until it ends, and count if it commits`(commits: Bool) {
        let driver = GroupDriver()
        _ = driver.ask(Requests.commit(offset: 1))
        #expect(driver.ask(Requests.transactionalCommit(offset: 2))?.error == ErrorCode.none)
        #expect(driver.ask(Requests.fetch())?.fetchedOffset?.offset == 1)
        #expect(driver.ask(Requests.fetch(stable: true))?.error == .unstableOffsetCommit)
        driver.restart()
        #expect(driver.ask(Requests.fetch(stable: true))?.error == .unstableOffsetCommit)
        #expect(driver.ask(Requests.fetch(partition: 1, stable: true))?.error == ErrorCode.none)
        let end = driver.endTransaction(ofProducer: 7, commits: commits, groups: ["g"])
        #expect(driver.endIsDurable[end] == true)
        for _ in 0..<2 {
            #expect(driver.ask(Requests.fetch(stable: true))?.fetchedOffset?.offset == (commits ? 2 : 1))
            driver.restart()
        }
    }

    @Test func `the end is answered only when it is durable, and its repetition changes nothing`() {
        let driver = GroupDriver()
        _ = driver.ask(Requests.transactionalCommit(offset: 2))
        driver.storesAtOnce = false
        let failed = driver.endTransaction(ofProducer: 7, commits: true, groups: ["g"])
        #expect(driver.endIsDurable[failed] == nil)
        driver.failNext()
        #expect(driver.endIsDurable[failed] == false)
        #expect(driver.ask(Requests.fetch(stable: true))?.error == .unstableOffsetCommit)
        let end = driver.endTransaction(ofProducer: 7, commits: true, groups: ["g"])
        driver.storeNext()
        #expect(driver.endIsDurable[end] == true)
        _ = driver.send(Requests.commit(offset: 9))
        driver.storeNext()
        let repeated = driver.endTransaction(ofProducer: 7, commits: true, groups: ["g", "nobody's"])
        #expect(driver.endIsDurable[repeated] == true)
        #expect(driver.ask(Requests.fetch(stable: true))?.fetchedOffset?.offset == 9)
    }

    @Test func `the end of a producer's transaction leaves the offsets of another producer pending`() {
        let driver = GroupDriver()
        _ = driver.ask(Requests.transactionalCommit(producer: 1, partition: 0, offset: 10))
        _ = driver.ask(Requests.transactionalCommit(producer: 2, partition: 1, offset: 20))
        _ = driver.endTransaction(ofProducer: 1, commits: true, groups: ["g"])
        #expect(driver.ask(Requests.fetch(partition: 0, stable: true))?.fetchedOffset?.offset == 10)
        #expect(driver.ask(Requests.fetch(partition: 1, stable: true))?.error == .unstableOffsetCommit)
    }

    @Test func `offsets of an old generation or an unknown member are refused`() {
        let driver = GroupDriver()
        let member = driver.stableGroup()[0].member
        let cases: [(GroupRequest, ErrorCode)] = [
            (Requests.transactionalCommit(member: member, generation: 1, offset: 1), .none),
            (Requests.transactionalCommit(member: member, generation: 0, offset: 1), .illegalGeneration),
            (Requests.transactionalCommit(member: "m", generation: 1, offset: 1), .unknownMemberID),
            (
                Requests.transactionalCommit(member: member, generation: 1, instance: "i", offset: 1),
                .unknownMemberID
            ),
            // Clients of older versions send no generation, so it is not checked.
            (Requests.transactionalCommit(offset: 1), .none),
            (Requests.transactionalCommit("", offset: 1), .invalidGroupID),
            (Requests.transactionalCommit("new", member: "m", generation: 3, offset: 1), .unknownMemberID),
        ]
        for (request, expected) in cases { #expect(driver.ask(request)?.error == expected, "\(request)") }
        // A refused commit leaves no group behind.
        #expect(driver.coordinator.groups["new"] == nil)
    }

    @Test(arguments: [true, false])
    func `a deleted topic's offsets do not come back when their transaction commits`(
        deletionIsDurableFirst: Bool
    ) {
        let driver = GroupDriver()
        _ = driver.ask(Requests.transactionalCommit(topic: "gone", offset: 2))
        _ = driver.ask(Requests.transactionalCommit(topic: "kept", offset: 3))
        driver.storesAtOnce = deletionIsDurableFirst
        driver.deleteOffsets(ofTopic: "gone")
        _ = driver.endTransaction(ofProducer: 7, commits: true, groups: ["g"])
        driver.storeAll()
        for _ in 0..<2 {
            #expect(
                driver.ask(Requests.fetch(topic: "gone", stable: true))?.fetchedOffset?.offset == noOffset)
            #expect(driver.ask(Requests.fetch(topic: "kept", stable: true))?.fetchedOffset?.offset == 3)
            driver.restart()
        }
    }

    @Test func `a topic that is deleted before a transaction's end is durable loses its offsets`() {
        let driver = GroupDriver()
        _ = driver.ask(Requests.transactionalCommit(topic: "gone", offset: 2))
        driver.storesAtOnce = false
        _ = driver.endTransaction(ofProducer: 7, commits: true, groups: ["g"])
        driver.deleteOffsets(ofTopic: "gone")
        driver.storeAll()
        for _ in 0..<2 {
            #expect(
                driver.ask(Requests.fetch(topic: "gone", stable: true))?.fetchedOffset?.offset == noOffset)
            driver.restart()
        }
    }

    @Test func `offsets whose append failed are no longer pending`() {
        let driver = GroupDriver()
        driver.storesAtOnce = false
        let token = driver.send(Requests.transactionalCommit(offset: 1))
        #expect(driver.ask(Requests.fetch(stable: true))?.error == .unstableOffsetCommit)
        driver.failNext()
        #expect(driver.take(token)?.error == .coordinatorNotAvailable)
        #expect(driver.ask(Requests.fetch(stable: true))?.error == ErrorCode.none)
    }
}
