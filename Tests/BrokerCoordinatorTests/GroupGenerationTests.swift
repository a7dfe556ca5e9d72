import Testing

@testable import Broker

/// The generations of a group: members join, the leader assigns the partitions (SyncGroup), and a silent member is
/// removed. `GroupDriver` holds the coordinator's clock and log.
struct GroupGenerationTests {
    @Test func `members that come together share the first generation`() throws {
        let driver = GroupDriver()
        let tokens = (0..<3).map { _ in driver.send(Requests.join(version: 3)) }
        let earlyAnswers = tokens.compactMap { driver.take($0) }
        #expect(earlyAnswers.isEmpty)
        driver.passInitialRebalanceDelay()
        let joins = tokens.compactMap { driver.take($0)?.join }
        #expect(joins.count == 3)
        #expect(Set(joins.map(\.generation)) == [1])
        #expect(Set(joins.map(\.leaderID)).count == 1)
        // Only the leader learns who the members are.
        #expect(joins.filter { $0.leaderID == $0.memberID }.map(\.members.count) == [3])
        #expect(joins.filter { $0.leaderID != $0.memberID }.map(\.members.count) == [0, 0])
    }

    @Test func `every member gets the assignment that the leader made for it`() throws {
        let driver = GroupDriver()
        let tokens = (0..<2).map { _ in driver.send(Requests.join(version: 3)) }
        driver.passInitialRebalanceDelay()
        let joins = tokens.compactMap { driver.take($0)?.join }
        let leader = try #require(joins.first { $0.memberID == $0.leaderID })
        let other = try #require(joins.first { $0.memberID != $0.leaderID })
        let waiting = driver.send(Requests.sync(member: other.memberID, generation: 1))
        #expect(driver.take(waiting) == nil)
        let leaderAnswer = driver.ask(
            Requests.sync(
                member: leader.memberID, generation: 1,
                assignments: [leader.memberID: [1], other.memberID: [2]]))
        #expect(leaderAnswer?.sync?.assignment == [1])
        #expect(driver.take(waiting)?.sync?.assignment == [2])
        #expect(
            driver.ask(Requests.heartbeat(member: other.memberID, generation: 1))?.error == ErrorCode.none)
    }

    @Test func `a new client must come back with the id it was given`() throws {
        let driver = GroupDriver()
        let refused = try #require(driver.ask(Requests.join(version: 5))?.join)
        #expect(refused.error == .memberIDRequired)
        let token = driver.send(Requests.join(member: refused.memberID, version: 5))
        driver.passInitialRebalanceDelay()
        let join = try #require(driver.take(token)?.join)
        #expect(join.error == .none)
        #expect(join.memberID == refused.memberID)
    }

    @Test func `an assignment is answered only when it is durable`() throws {
        let driver = GroupDriver()
        driver.storesAtOnce = false
        let token = driver.send(Requests.join(version: 3))
        driver.passInitialRebalanceDelay()
        #expect(driver.take(token) == nil)
        driver.storeNext()
        let join = try #require(driver.take(token)?.join)
        let sync = driver.send(
            Requests.sync(member: join.memberID, generation: 1, assignments: [join.memberID: [9]]))
        #expect(driver.take(sync) == nil)
        driver.storeNext()
        #expect(driver.take(sync)?.sync?.assignment == [9])
    }

    @Test func `a member that is silent for its session is removed, and the others join a new generation`()
        throws
    {
        let driver = GroupDriver()
        // Their session is 10 s.
        let members = driver.stableGroup(memberCount: 2)
        driver.pass(milliseconds: 6_000)
        #expect(
            driver.ask(Requests.heartbeat(member: members[0].member, generation: 1))?.error == ErrorCode.none)
        driver.pass(milliseconds: 5_000)
        #expect(
            driver.ask(Requests.heartbeat(member: members[0].member, generation: 1))?.error
                == .rebalanceInProgress
        )
        #expect(
            driver.ask(Requests.heartbeat(member: members[1].member, generation: 1))?.error
                == .unknownMemberID)
        let join = driver.ask(Requests.join(member: members[0].member, version: 3))?.join
        #expect(join?.generation == 2)
        #expect(join?.members.count == 1)
    }
}
