import Testing

@testable import Broker

struct OffsetTests {
    @Test func `an offset comes back with its metadata, also after a restart`() {
        let driver = GroupDriver()
        #expect(driver.ask(Ask.fetch())?.fetched == .init(index: 0))
        #expect(driver.ask(Ask.commit(offset: 42, metadata: "receipts@7"))?.error == ErrorCode.none)
        for _ in 0..<2 {
            let fetched = driver.ask(Ask.fetch())?.fetched
            #expect(fetched?.offset == 42)
            #expect(fetched?.metadata == "receipts@7")
            driver.restart(keeping: 0)
        }
    }

    @Test func `a commit is answered, and read, only when it is durable`() {
        let driver = GroupDriver()
        driver.storesAtOnce = false
        let token = driver.send(Ask.commit(offset: 42))
        #expect(driver.take(token) == nil)
        #expect(driver.ask(Ask.fetch())?.fetched?.offset == -1)
        driver.storeNext()
        #expect(driver.take(token)?.error == ErrorCode.none)
        #expect(driver.ask(Ask.fetch())?.fetched?.offset == 42)
    }

    @Test func `an offset that may not be stored is refused alone`() {
        let driver = GroupDriver()
        let long = String(repeating: "x", count: 4_097)
        #expect(driver.ask(Ask.commit(offset: 1, metadata: long))?.error == .offsetMetadataTooLarge)
        #expect(driver.ask(Ask.commit(topic: "missing", offset: 1))?.error == .unknownTopicOrPartition)
        let fits = String(repeating: "x", count: 4_096)
        #expect(driver.ask(Ask.commit(offset: 1, metadata: fits))?.error == ErrorCode.none)
    }

    @Test func `only members of the generation may commit for a group with members`() {
        let driver = GroupDriver()
        #expect(driver.ask(Ask.commit("new", generation: 1, offset: 1))?.error == .illegalGeneration)
        #expect(driver.ask(Ask.commit("new", offset: 1))?.error == ErrorCode.none)
        #expect(
            driver.ask(Ask.commit("new", member: "m", generation: 1, offset: 1))?.error == .unknownMemberID)
        let member = driver.stableGroup()[0].member
        #expect(driver.ask(Ask.commit(offset: 1))?.error == .unknownMemberID)
        #expect(driver.ask(Ask.commit(member: "m", generation: 1, offset: 1))?.error == .unknownMemberID)
        #expect(driver.ask(Ask.commit(member: member, generation: 0, offset: 1))?.error == .illegalGeneration)
        #expect(driver.ask(Ask.commit(member: member, generation: 1, offset: 1))?.error == ErrorCode.none)
    }

    @Test func `a commit is a sign of life`() {
        let driver = GroupDriver()
        let member = driver.stableGroup()[0].member
        for _ in 0..<3 {
            driver.pass(milliseconds: 8_000)
            #expect(driver.ask(Ask.commit(member: member, generation: 1, offset: 1))?.error == ErrorCode.none)
        }
    }

    @Test func `all offsets of a group come topic by topic`() {
        let driver = GroupDriver()
        for (topic, partition) in [("b", 1), ("a", 2), ("b", 0)] as [(String, Int32)] {
            _ = driver.ask(Ask.commit(topic: topic, partition: partition, offset: 1))
        }
        let all = OffsetFetchRequest(groups: [
            .init(groupID: "g", topics: nil), .init(groupID: "z", topics: nil),
        ])
        guard case .fetch(let body)? = driver.ask(.fetch(all)) else { return #expect(Bool(false)) }
        #expect(body.groups[0].topics.map(\.topic) == ["a", "b"])
        #expect(body.groups[0].topics.map { $0.partitions.map(\.index) } == [[2], [0, 1]])
        #expect(body.groups[1] == .init(groupID: "z"))
    }

    @Test func `offsets of a group long empty are forgotten, those of a living one stay`() {
        let driver = GroupDriver()
        let members = driver.stableGroup(1, metadata: [0, 0, 0, 0, 0, 1, 0, 1, 0x74])
        _ = driver.ask(Ask.commit(member: members[0].member, generation: 1, offset: 9))
        _ = driver.ask(Ask.commit("simple", offset: 5))
        let beat = Ask.heartbeat(member: members[0].member, generation: 1)
        for _ in 0..<(8 * 24 * 60 * 8) {
            driver.pass(milliseconds: 7_500)
            _ = driver.ask(beat)
        }
        #expect(driver.ask(Ask.fetch())?.fetched?.offset == 9)
        #expect(driver.ask(Ask.fetch("simple"))?.fetched?.offset == -1)
        #expect(driver.coordinator.groups["simple"] == nil)
        _ = driver.ask(Ask.leave(member: members[0].member))
        driver.pass(milliseconds: 6 * 86_400_000)
        #expect(driver.ask(Ask.fetch())?.fetched?.offset == 9)
        driver.pass(milliseconds: 86_400_000 + 1_200_000)
        #expect(driver.ask(Ask.fetch())?.fetched?.offset == -1)
        driver.restart(keeping: 0)
        #expect(driver.coordinator.groups.isEmpty)
    }

    @Test func `a clock that jumps ahead forgets no offset and no transactional id`() throws {
        let driver = GroupDriver()
        _ = driver.ask(Ask.commit(offset: 5))
        driver.clockLead = 30 * 86_400_000
        driver.pass(milliseconds: 2 * 3_600_000)
        #expect(driver.ask(Ask.fetch())?.fetched?.offset == 5)
        let producers = TransactionDriver()
        let producer = try #require(producers.producer())
        producers.clockLead = 30 * 86_400_000
        producers.pass(milliseconds: 2 * 3_600_000)
        #expect(producers.ask(producer.add())?.error == ErrorCode.none)
        // An open transaction keeps the rest of its time over a start in the middle of the jump.
        producers.clockLead = 60 * 86_400_000
        producers.restart(keeping: 0)
        #expect(producers.coordinator.transactions.values.allSatisfy { $0.facts.state == .ongoing })
    }

    @Test func `a deleted topic takes its offsets along`() {
        let driver = GroupDriver()
        _ = driver.ask(Ask.commit(topic: "a", offset: 1))
        _ = driver.ask(Ask.commit(topic: "b", offset: 2))
        driver.topicDeleted("a")
        driver.restart(keeping: 0)
        #expect(driver.ask(Ask.fetch(topic: "a"))?.fetched?.offset == -1)
        #expect(driver.ask(Ask.fetch(topic: "b"))?.fetched?.offset == 2)
    }
}
