import Testing

@testable import Broker

/// The requests of administrators about groups: describe, list, delete, and delete offsets. `GroupDriver.ask` returns
/// an answer at once. The answer to `send` waits until `storeAll` makes the coordinator's appends durable.
struct GroupAdministrationTests {
    @Test func `a group that is named twice is described once`() {
        let driver = GroupDriver()
        let answer = driver.ask(.describe(DescribeGroupsRequest(groupIDs: ["a", "b", "a"])))
        guard case .describe(let body)? = answer else {
            Issue.record("the answer is of another kind")
            return
        }
        #expect(body.groups.map(\.groupID) == ["a", "b"])
    }

    @Test func `a stable group shows its members, their metadata and their assignments`() throws {
        let driver = GroupDriver()
        let members = driver.stableGroup(memberCount: 2, instances: [nil, "b"])
        guard case .describe(let body)? = driver.ask(.describe(.init(groupIDs: ["g", "nobody's"]))) else {
            Issue.record("the answer is of another kind")
            return
        }
        let group = try #require(body.groups.first)
        #expect(group.state == "Stable")
        #expect(group.protocolType == "consumer")
        #expect(group.protocolName == "range")
        #expect(group.members.map(\.memberID) == members.map(\.member))
        #expect(group.members.map(\.instanceID) == [nil, "b"])
        // `stableGroup` assigns to each member its index, and `Requests.join` sends the metadata [1].
        #expect(group.members.map(\.assignment) == [[0], [1]])
        #expect(group.members.map(\.metadata) == [[1], [1]])
        #expect(group.members.map(\.clientHost) == ["/127.0.0.1", "/127.0.0.1"])
        #expect(body.groups[1] == .init(groupID: "nobody's", state: "Dead"))
    }

    @Test func `groups are listed with their states, or only those in given states`() {
        let driver = GroupDriver()
        _ = driver.stableGroup()
        // A group that only commits offsets has no protocol type.
        _ = driver.ask(Requests.commit("simple", offset: 1))
        func groups(in states: [String]) -> [String] {
            guard case .list(let body)? = driver.ask(.list(.init(states: states))) else { return [] }
            return body.groups.map { "\($0.groupID):\($0.protocolType):\($0.state)" }
        }
        #expect(groups(in: []) == ["g:consumer:Stable", "simple::Empty"])
        // The case of a state's name does not matter, as on Kafka.
        #expect(groups(in: ["stable"]) == ["g:consumer:Stable"])
        #expect(groups(in: ["Dead"]).isEmpty)
    }

    @Test func `only an empty group can be deleted`() {
        let driver = GroupDriver()
        let member = driver.stableGroup()[0].member
        _ = driver.ask(Requests.commit(member: member, generation: 1, offset: 1))
        #expect(driver.ask(.delete(.init(groupIDs: ["g"])))?.error == .nonEmptyGroup)
        #expect(driver.ask(.delete(.init(groupIDs: ["nobody's"])))?.error == .groupIDNotFound)
        _ = driver.ask(Requests.leave(member: member))
        #expect(driver.ask(.delete(.init(groupIDs: ["g"])))?.error == ErrorCode.none)
    }

    @Test func `a group named twice is deleted once, refuses requests meanwhile, and stays deleted`() {
        let driver = GroupDriver()
        let member = driver.stableGroup()[0].member
        _ = driver.ask(Requests.commit(member: member, generation: 1, offset: 1))
        _ = driver.ask(Requests.leave(member: member))
        driver.storesAtOnce = false
        let token = driver.send(.delete(.init(groupIDs: ["g", "g"])))
        #expect(driver.ask(Requests.commit(offset: 2))?.error == .coordinatorNotAvailable)
        #expect(
            driver.ask(Requests.heartbeat(member: member, generation: 1))?.error == .coordinatorNotAvailable)
        driver.storeAll()
        guard case .delete(let body)? = driver.take(token) else {
            Issue.record("the answer is of another kind")
            return
        }
        #expect(body.groups.map(\.error) == [.none, .groupIDNotFound])
        driver.restart()
        #expect(driver.coordinator.groups.isEmpty)
    }

    @Test func `a deletion that the log refuses leaves the group as it was`() {
        let driver = GroupDriver()
        _ = driver.ask(Requests.commit(offset: 7))
        driver.storesAtOnce = false
        let token = driver.send(.delete(.init(groupIDs: ["g"])))
        driver.failNext()
        #expect(driver.take(token)?.error == .coordinatorNotAvailable)
        #expect(driver.ask(Requests.fetch())?.fetchedOffset?.offset == 7)
    }

    @Test func `a commit that is not durable when its group is deleted is gone after a restart`() {
        let driver = GroupDriver()
        _ = driver.ask(Requests.commit(offset: 7))
        driver.storesAtOnce = false
        _ = driver.send(Requests.commit(partition: 1, offset: 8))
        _ = driver.send(.delete(.init(groupIDs: ["g"])))
        driver.storeAll()
        driver.restart()
        #expect(driver.ask(Requests.fetch(partition: 1))?.fetchedOffset?.offset == noOffset)
    }

    @Test func `only offsets of topics that no member reads can be deleted`() {
        let driver = GroupDriver()
        let members = driver.stableGroup(memberCount: 1, metadata: OffsetTests.subscription)
        let member = members[0].member
        for topic in ["t", "u"] {
            _ = driver.ask(Requests.commit(member: member, generation: 1, topic: topic, offset: 3))
        }
        func deletion(of topic: String, group: String = "g") -> GroupRequest {
            .deleteOffsets(.init(groupID: group, topics: [.init(topic: topic, partitions: [0])]))
        }
        #expect(driver.ask(deletion(of: "t", group: "nobody's"))?.error == .groupIDNotFound)
        #expect(driver.ask(deletion(of: "t"))?.error == .groupSubscribedToTopic)
        #expect(driver.ask(deletion(of: "u"))?.error == ErrorCode.none)
        #expect(driver.ask(Requests.fetch(topic: "u"))?.fetchedOffset?.offset == noOffset)
        _ = driver.ask(Requests.leave(member: member))
        #expect(driver.ask(deletion(of: "t"))?.error == ErrorCode.none)
        #expect(driver.ask(Requests.fetch(topic: "t"))?.fetchedOffset?.offset == noOffset)
    }
}
