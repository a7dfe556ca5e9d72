import Testing

@testable import Broker

/// The committed offsets of groups: when they are durable, which are refused, and when they expire. `GroupDriver` holds
/// the coordinator's log, so a test decides when a commit becomes durable. A commit without a member is for a group
/// that only stores offsets.
struct OffsetTests {
    /// The metadata of a consumer that reads the topic "t": version 0 (two bytes), one topic (four bytes), and its name
    /// with its length (two bytes).
    static let subscription: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 1, UInt8(ascii: "t")]
    private static let hourMilliseconds: Int64 = 3_600_000
    private static let dayMilliseconds = 24 * hourMilliseconds

    @Test func `an offset comes back with its metadata, also after a restart`() {
        let driver = GroupDriver()
        #expect(driver.ask(Requests.fetch())?.fetchedOffset == .init(index: 0), "no offset was committed")
        #expect(driver.ask(Requests.commit(offset: 42, metadata: "receipts@7"))?.error == ErrorCode.none)
        for _ in 0..<2 {
            let fetched = driver.ask(Requests.fetch())?.fetchedOffset
            #expect(fetched?.offset == 42)
            #expect(fetched?.metadata == "receipts@7")
            driver.restart()
        }
    }

    @Test func `a commit is answered, and read, only when it is durable`() {
        let driver = GroupDriver()
        driver.storesAtOnce = false
        let token = driver.send(Requests.commit(offset: 42))
        #expect(driver.take(token) == nil)
        #expect(driver.ask(Requests.fetch())?.fetchedOffset?.offset == noOffset)
        driver.storeNext()
        #expect(driver.take(token)?.error == ErrorCode.none)
        #expect(driver.ask(Requests.fetch())?.fetchedOffset?.offset == 42)
    }

    @Test func `an offset with too much metadata, or of an unknown partition, is refused`() {
        let driver = GroupDriver()
        let bytesMax = GroupSettings().offsetMetadataBytesMax
        let long = String(repeating: "x", count: bytesMax + 1)
        #expect(driver.ask(Requests.commit(offset: 1, metadata: long))?.error == .offsetMetadataTooLarge)
        #expect(driver.ask(Requests.commit(topic: "missing", offset: 1))?.error == .unknownTopicOrPartition)
        let fits = String(repeating: "x", count: bytesMax)
        #expect(driver.ask(Requests.commit(offset: 1, metadata: fits))?.error == ErrorCode.none)
    }

    @Test func `only members of the generation may commit for a group with members`() {
        let driver = GroupDriver()
        #expect(driver.ask(Requests.commit("new", generation: 1, offset: 1))?.error == .illegalGeneration)
        #expect(driver.ask(Requests.commit("new", offset: 1))?.error == ErrorCode.none)
        #expect(
            driver.ask(Requests.commit("new", member: "m", generation: 1, offset: 1))?.error
                == .unknownMemberID)
        let member = driver.stableGroup()[0].member
        #expect(driver.ask(Requests.commit(offset: 1))?.error == .unknownMemberID)
        #expect(driver.ask(Requests.commit(member: "m", generation: 1, offset: 1))?.error == .unknownMemberID)
        #expect(
            driver.ask(Requests.commit(member: member, generation: 0, offset: 1))?.error == .illegalGeneration
        )
        #expect(
            driver.ask(Requests.commit(member: member, generation: 1, offset: 1))?.error == ErrorCode.none)
    }

    @Test func `a commit counts as a heartbeat`() {
        let driver = GroupDriver()
        let member = driver.stableGroup()[0].member
        // Each wait is shorter than the session of 10 s, and two together are longer.
        for _ in 0..<3 {
            driver.pass(milliseconds: 8_000)
            #expect(
                driver.ask(Requests.commit(member: member, generation: 1, offset: 1))?.error == ErrorCode.none
            )
        }
    }

    @Test func `all offsets of a group are returned topic by topic`() {
        let driver = GroupDriver()
        for (topic, partition) in [("b", 1), ("a", 2), ("b", 0)] as [(String, Int32)] {
            _ = driver.ask(Requests.commit(topic: topic, partition: partition, offset: 1))
        }
        // Without topics, the request is for all offsets of the group.
        let request = OffsetFetchRequest(groups: [
            .init(groupID: "g", topics: nil), .init(groupID: "z", topics: nil),
        ])
        guard case .fetch(let body)? = driver.ask(.fetch(request)) else {
            Issue.record("the answer is of another kind")
            return
        }
        #expect(body.groups[0].topics.map(\.topic) == ["a", "b"])
        #expect(body.groups[0].topics.map { $0.partitions.map(\.index) } == [[2], [0, 1]])
        #expect(body.groups[1] == .init(groupID: "z"))
    }

    @Test func `the offsets of a group without members expire after a week`() {
        let driver = GroupDriver()
        let members = driver.stableGroup(memberCount: 1, metadata: Self.subscription)
        _ = driver.ask(Requests.commit(member: members[0].member, generation: 1, offset: 9))
        _ = driver.ask(Requests.commit("simple", offset: 5))
        let heartbeat = Requests.heartbeat(member: members[0].member, generation: 1)
        let heartbeatMilliseconds: Int64 = 7_500
        for _ in 0..<(8 * Self.dayMilliseconds / heartbeatMilliseconds) {
            driver.pass(milliseconds: heartbeatMilliseconds)
            _ = driver.ask(heartbeat)
        }
        // After eight days the group with a member keeps its offset, the group "simple" has lost its own.
        #expect(driver.ask(Requests.fetch())?.fetchedOffset?.offset == 9)
        #expect(driver.ask(Requests.fetch("simple"))?.fetchedOffset?.offset == noOffset)
        #expect(driver.coordinator.groups["simple"] == nil)
        _ = driver.ask(Requests.leave(member: members[0].member))
        driver.pass(milliseconds: 6 * Self.dayMilliseconds)
        #expect(driver.ask(Requests.fetch())?.fetchedOffset?.offset == 9)
        // The coordinator looks for expired offsets every ten minutes.
        driver.pass(milliseconds: Self.dayMilliseconds + 20 * 60_000)
        #expect(driver.ask(Requests.fetch())?.fetchedOffset?.offset == noOffset)
        driver.restart()
        #expect(driver.coordinator.groups.isEmpty)
    }

    @Test func `a clock that jumps ahead lets no offset expire`() {
        let driver = GroupDriver()
        _ = driver.ask(Requests.commit(offset: 5))
        driver.clockLeadMilliseconds = 30 * Self.dayMilliseconds
        // Long enough that the coordinator has looked for expired offsets.
        driver.pass(milliseconds: 2 * Self.hourMilliseconds)
        #expect(driver.ask(Requests.fetch())?.fetchedOffset?.offset == 5)
    }

    @Test func `the offsets of a deleted topic are deleted`() {
        let driver = GroupDriver()
        _ = driver.ask(Requests.commit(topic: "a", offset: 1))
        _ = driver.ask(Requests.commit(topic: "b", offset: 2))
        driver.deleteOffsets(ofTopic: "a")
        driver.restart()
        #expect(driver.ask(Requests.fetch(topic: "a"))?.fetchedOffset?.offset == noOffset)
        #expect(driver.ask(Requests.fetch(topic: "b"))?.fetchedOffset?.offset == 2)
    }
}
