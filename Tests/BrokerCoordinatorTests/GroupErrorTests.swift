import Testing

@testable import Broker

/// The errors that a group answers to each request of its members, as Kafka does. The tests build requests with
/// `Requests`, and give them to the coordinator of a `GroupDriver`. With version 3 of a join, a new client becomes a
/// member at once.
struct GroupErrorTests {
    @Test func `a join that breaks a rule or exceeds a limit is refused`() {
        var settings = GroupSettings()
        settings.membersPerGroupMax = 1
        settings.groupsMax = 2
        settings.memberBytesMax = 100
        let driver = GroupDriver(settings)
        // The group "g" has its one member.
        _ = driver.stableGroup()
        // A session lasts from 6 s to 30 min. The order of the cases matters: "second" takes the last group that
        // `groupsMax` admits.
        let cases: [(GroupRequest, ErrorCode)] = [
            (Requests.join(""), .invalidGroupID),
            (Requests.join(sessionMilliseconds: 5_999), .invalidSessionTimeout),
            (Requests.join(sessionMilliseconds: 1_800_001), .invalidSessionTimeout),
            (Requests.join(sessionMilliseconds: -1), .invalidSessionTimeout),
            (Requests.join(metadata: Array(repeating: 0, count: 200)), .invalidRequest),
            (Requests.join("new", member: "nobody"), .unknownMemberID),
            (Requests.join(member: "nobody"), .groupMaxSizeReached),
            (Requests.join("new", protocols: []), .inconsistentGroupProtocol),
            (Requests.join("new", type: ""), .inconsistentGroupProtocol),
            (Requests.join(), .groupMaxSizeReached),
            (Requests.join("second"), .memberIDRequired),
            (Requests.join("third"), .policyViolation),
        ]
        for (request, expected) in cases {
            #expect(driver.ask(request)?.error == expected, "\(request)")
        }
    }

    @Test func `a group keeps to one type and to a protocol that all know`() {
        let driver = GroupDriver()
        _ = driver.stableGroup()
        #expect(driver.ask(Requests.join(type: "connect"))?.error == .inconsistentGroupProtocol)
        #expect(driver.ask(Requests.join(protocols: ["sticky"]))?.error == .inconsistentGroupProtocol)
        #expect(driver.ask(Requests.join(protocols: ["sticky", "range"]))?.error == .memberIDRequired)
    }

    @Test func `heartbeats, syncs and leaves of unknown members or generations are refused`() {
        let driver = GroupDriver()
        let member = driver.stableGroup()[0].member
        typealias MakeRequest = (_ group: String, _ member: String, _ generation: Int32) -> GroupRequest
        let requestKinds: [MakeRequest] = [
            { Requests.heartbeat($0, member: $1, generation: $2) },
            { Requests.sync($0, member: $1, generation: $2) },
        ]
        for makeRequest in requestKinds {
            #expect(driver.ask(makeRequest("", member, 1))?.error == .invalidGroupID)
            #expect(driver.ask(makeRequest("nobody's", member, 1))?.error == .unknownMemberID)
            #expect(driver.ask(makeRequest("g", "nobody", 1))?.error == .unknownMemberID)
            #expect(driver.ask(makeRequest("g", member, 0))?.error == .illegalGeneration)
            #expect(driver.ask(makeRequest("g", member, 2))?.error == .illegalGeneration)
            #expect(driver.ask(makeRequest("g", member, 1))?.error == ErrorCode.none)
        }
        #expect(driver.ask(Requests.leave("", member: member))?.error == .invalidGroupID)
        #expect(driver.ask(Requests.leave("nobody's", member: member))?.error == .unknownMemberID)
        #expect(driver.ask(Requests.leave(member: "nobody"))?.error == .unknownMemberID)
    }

    @Test func `during a rebalance members are asked to join again, and their commits are still taken`() {
        let driver = GroupDriver()
        let members = driver.stableGroup(memberCount: 2)
        let member = members[0].member
        let newcomer = driver.send(Requests.join(version: 3))
        #expect(driver.ask(Requests.heartbeat(member: member, generation: 1))?.error == .rebalanceInProgress)
        #expect(driver.ask(Requests.sync(member: member, generation: 1))?.error == .rebalanceInProgress)
        #expect(
            driver.ask(Requests.commit(member: member, generation: 1, offset: 5))?.error == ErrorCode.none)
        let rejoinTokens = members.map { driver.send(Requests.join(member: $0.member, version: 3)) }
        #expect(driver.take(newcomer)?.join?.generation == 2)
        #expect(rejoinTokens.map { driver.take($0)?.join?.generation } == [2, 2])
        // The members have the generation, but no assignment. So a commit is refused until they have it.
        #expect(
            driver.ask(Requests.commit(member: member, generation: 2, offset: 6))?.error
                == .rebalanceInProgress)
        #expect(
            driver.ask(Requests.commit(member: member, generation: 1, offset: 6))?.error == .illegalGeneration
        )
        #expect(driver.ask(Requests.fetch())?.fetchedOffset?.offset == 5)
    }

    @Test func `a member that joins again before its assignment gets the same answer`() {
        let driver = GroupDriver()
        let token = driver.send(Requests.join(version: 3))
        driver.passInitialRebalanceDelay()
        let join = driver.take(token)?.join
        let repeated = driver.ask(Requests.join(member: join?.memberID ?? "", version: 3))?.join
        #expect(repeated == join)
        #expect(repeated?.members.count == 1)
    }

    @Test func `the leader of a stable group that joins again begins a generation`() {
        let driver = GroupDriver()
        let members = driver.stableGroup(memberCount: 2)
        // Nothing changed for the follower, so it gets the current generation.
        let follower = driver.ask(Requests.join(member: members[1].member, version: 3))?.join
        #expect(follower?.generation == 1)
        #expect(follower?.members.isEmpty == true)
        let leader = driver.send(Requests.join(member: members[0].member, version: 3))
        #expect(driver.take(leader) == nil)
        #expect(
            driver.ask(Requests.heartbeat(member: members[1].member, generation: 1))?.error
                == .rebalanceInProgress
        )
        #expect(driver.ask(Requests.join(member: members[1].member, version: 3))?.join?.generation == 2)
        #expect(driver.take(leader)?.join?.members.count == 2)
    }

    @Test func `a member that never asks for its assignment is removed after the rebalance timeout`() {
        let driver = GroupDriver()
        let tokens = (0..<2).map { _ in
            driver.send(
                Requests.join(version: 3, sessionMilliseconds: 60_000, rebalanceMilliseconds: 7_000))
        }
        driver.passInitialRebalanceDelay()
        let joins = tokens.compactMap { driver.take($0)?.join }
        let waiting = driver.send(Requests.sync(member: joins[1].memberID, generation: 1))
        driver.pass(milliseconds: 8_000)
        // The leader, `joins[0]`, has sent no SyncGroup for longer than the rebalance timeout.
        #expect(driver.take(waiting)?.error == .rebalanceInProgress)
        #expect(
            driver.ask(Requests.heartbeat(member: joins[0].memberID, generation: 1))?.error
                == .unknownMemberID)
        #expect(driver.ask(Requests.join(member: joins[1].memberID, version: 3))?.join?.generation == 2)
    }

    @Test func `a member that does not join in time is not in the generation`() {
        let driver = GroupDriver()
        let tokens = (0..<2).map { _ in
            driver.send(
                Requests.join(version: 3, sessionMilliseconds: 60_000, rebalanceMilliseconds: 7_000))
        }
        driver.passInitialRebalanceDelay()
        let joins = tokens.compactMap { driver.take($0)?.join }
        for join in joins { _ = driver.send(Requests.sync(member: join.memberID, generation: 1)) }
        let newcomer = driver.send(Requests.join(version: 3, rebalanceMilliseconds: 7_000))
        let returning = driver.send(Requests.join(member: joins[1].memberID, version: 3))
        driver.pass(milliseconds: 6_000)
        #expect(driver.take(returning) == nil)
        driver.pass(milliseconds: 2_000)
        // The old leader did not join, so the oldest member that did is the leader.
        let join = driver.take(returning)?.join
        #expect(join?.generation == 2)
        #expect(join?.leaderID == joins[1].memberID)
        #expect(join?.members.count == 2)
        #expect(driver.take(newcomer)?.join?.generation == 2)
    }

    @Test func `a member id that no client uses within the session is forgotten`() {
        let driver = GroupDriver()
        let id = driver.ask(Requests.join(version: 5))?.join?.memberID ?? ""
        driver.pass(milliseconds: 11_000)
        #expect(driver.ask(Requests.join(member: id, version: 5))?.error == .unknownMemberID)
        #expect(driver.coordinator.groups.isEmpty)
    }

    @Test func `several members leave in one request, and each gets its own answer`() {
        let driver = GroupDriver()
        let members = driver.stableGroup(memberCount: 2)
        let answer = driver.ask(
            .leave(
                LeaveGroupRequest(
                    groupID: "g",
                    members: [
                        .init(memberID: members[0].member), .init(memberID: "nobody"),
                        .init(memberID: members[1].member),
                    ])))
        guard case .leave(let body)? = answer else {
            Issue.record("the answer is of another kind")
            return
        }
        #expect(body.error == .none)
        #expect(body.members.map(\.error) == [.none, .unknownMemberID, .none])
        #expect(driver.coordinator.groups["g"]?.state == .empty)
    }

    @Test func `if the log fails, no member learns of a generation, an assignment or a commit`() {
        let driver = GroupDriver()
        driver.storesAtOnce = false
        let token = driver.send(Requests.join(version: 3))
        driver.passInitialRebalanceDelay()
        driver.failNext()
        #expect(driver.take(token)?.error == .coordinatorNotAvailable)
        driver.storesAtOnce = true
        let member = driver.coordinator.groups["g"]?.leaderID ?? ""
        let join = driver.ask(Requests.join(member: member, version: 3))?.join
        #expect(join?.generation == 2)
        driver.storesAtOnce = false
        let sync = driver.send(Requests.sync(member: member, generation: 2))
        driver.failNext()
        #expect(driver.take(sync)?.error == .coordinatorNotAvailable)
        let commit = driver.send(Requests.commit("simple", offset: 3))
        driver.failNext()
        #expect(driver.take(commit)?.error == .coordinatorNotAvailable)
        #expect(driver.ask(Requests.fetch("simple"))?.fetchedOffset?.offset == noOffset)
    }
}
