import Lifecycle
import Testing

@testable import Broker

/// Static members, which have an instance id and may restart without a rebalance. `stableGroup(instances:)` makes a
/// group of them in generation 1. A join with an instance id and without a member id is a restarted process. A member
/// without an instance id joins with version 3: from version 4 on it would first get a member id, and join again.
struct StaticMemberTests {
    @Test func `a restarted member keeps its assignment, and no other member joins again`() throws {
        let driver = GroupDriver()
        let members = driver.stableGroup(memberCount: 2, instances: ["a", "b"])
        let join = try #require(driver.ask(Requests.join(instance: "b"))?.join)
        #expect(join.error == .none)
        #expect(join.generation == 1)
        #expect(join.memberID != members[1].member)
        let sync = driver.ask(Requests.sync(member: join.memberID, generation: 1, instance: "b"))?.sync
        // `stableGroup` assigned to each member its index.
        #expect(sync?.assignment == [1])
        #expect(
            driver.ask(Requests.heartbeat(member: members[0].member, generation: 1, instance: "a"))?.error
                == ErrorCode.none)
    }

    @Test func `a restarted leader leads, but the answer names its old member id as the leader`() throws {
        let driver = GroupDriver()
        let members = driver.stableGroup(memberCount: 2, instances: ["a", "b"])
        let join = try #require(driver.ask(Requests.join(instance: "a"))?.join)
        #expect(join.generation == 1)
        #expect(join.leaderID == members[0].member)
        #expect(join.memberID != join.leaderID)
        #expect(join.members.isEmpty)
        #expect(driver.coordinator.groups["g"]?.leaderID == join.memberID)
    }

    @Test func `a process that still uses the old id is fenced`() throws {
        let driver = GroupDriver()
        let old = driver.stableGroup(memberCount: 1, instances: ["a"])[0].member
        _ = driver.ask(Requests.join(instance: "a"))
        let requests = [
            Requests.heartbeat(member: old, generation: 1, instance: "a"),
            Requests.sync(member: old, generation: 1, instance: "a"),
            Requests.join(member: old, instance: "a"),
            Requests.leave(member: old, instance: "a"),
            Requests.commit(member: old, generation: 1, instance: "a", offset: 1),
            Requests.transactionalCommit(member: old, generation: 1, instance: "a", offset: 1),
        ]
        for request in requests { #expect(driver.ask(request)?.error == .fencedInstanceID, "\(request)") }
        // With no instance id, or with another one, the old member is unknown.
        #expect(driver.ask(Requests.heartbeat(member: old, generation: 1))?.error == .unknownMemberID)
        #expect(
            driver.ask(Requests.heartbeat(member: old, generation: 1, instance: "z"))?.error
                == .unknownMemberID)
    }

    @Test func `a restarted member begins a generation only if it no longer knows the group's protocol`() {
        let driver = GroupDriver()
        let members = driver.stableGroup(memberCount: 2, instances: ["a", "b"])
        let protocols = ["sticky", "range"]
        let token = driver.send(Requests.join(instance: "b", protocols: protocols))
        // Both members still know the protocol "range", so there is no rebalance.
        #expect(driver.take(token)?.join?.generation == 1)
        // A join of the leader begins a rebalance, which waits for "b".
        let first = driver.send(
            Requests.join(member: members[0].member, instance: "a", protocols: protocols))
        #expect(driver.take(first) == nil)
        let member = driver.coordinator.groups["g"]?.staticMemberIDs["b"] ?? ""
        _ = driver.send(Requests.join(member: member, instance: "b", protocols: protocols))
        #expect(driver.take(first)?.join?.protocolName == "sticky")
        // A process that no longer knows "sticky", the protocol of the generation.
        let narrowed = driver.send(Requests.join(instance: "b", protocols: ["range"]))
        #expect(driver.take(narrowed) == nil)
        #expect(driver.coordinator.groups["g"]?.state == .preparingRebalance)
    }

    @Test func `a static member stays a member in a rebalance that it misses`() throws {
        let driver = GroupDriver()
        let members = driver.stableGroup(memberCount: 2, instances: ["a", "b"])
        let newcomer = driver.send(Requests.join(version: 3, rebalanceMilliseconds: 5_000))
        driver.pass(milliseconds: 4_000)
        _ = driver.ask(Requests.heartbeat(member: members[0].member, generation: 1, instance: "a"))
        _ = driver.ask(Requests.heartbeat(member: members[1].member, generation: 1, instance: "b"))
        // The rebalance waits as long as its slowest member allows: 30 s, the default of `Requests.join`. The 4 s above and
        // four rounds of 7 s are longer. The member "b" sends heartbeats within its session of 10 s, but does not join.
        for round in 0..<4 {
            driver.pass(milliseconds: 7_000)
            _ = driver.ask(Requests.heartbeat(member: members[1].member, generation: 1, instance: "b"))
            // The member "a" joins, so only "b" is missing.
            if round == 0 {
                _ = driver.send(Requests.join(member: members[0].member, instance: "a"))
            }
        }
        let join = try #require(driver.take(newcomer)?.join)
        #expect(join.generation == 2)
        let group = try #require(driver.coordinator.groups["g"])
        #expect(group.members.count == 3)
        #expect(group.staticMemberIDs["b"] == members[1].member)
    }

    @Test func `an operator removes a static member by its name alone`() {
        let driver = GroupDriver()
        _ = driver.stableGroup(memberCount: 1, instances: ["a"])
        #expect(driver.ask(Requests.leave(member: "", instance: "z"))?.error == .unknownMemberID)
        #expect(driver.ask(Requests.leave(member: "", instance: "a"))?.error == ErrorCode.none)
        #expect(driver.coordinator.groups["g"]?.state == .empty)
    }

    @Test func `a restart while the others wait for their assignment begins a generation`() {
        let driver = GroupDriver()
        let tokens = [nil, "b"].map { driver.send(Requests.join(instance: $0, version: 3)) }
        driver.passInitialRebalanceDelay()
        let joins = tokens.compactMap { driver.take($0)?.join }
        let waiting = driver.send(Requests.sync(member: joins[1].memberID, generation: 1, instance: "b"))
        let rejoining = driver.send(Requests.join(instance: "b"))
        #expect(driver.take(waiting)?.error == .fencedInstanceID)
        #expect(driver.take(rejoining) == nil)
        #expect(driver.ask(Requests.join(member: joins[0].memberID, version: 3))?.join?.generation == 2)
        #expect(driver.take(rejoining)?.join?.generation == 2)
    }

    @Test func `a group that waits for a static member sets no deadline in the past`() {
        let driver = GroupDriver()
        // A rebalance timeout of 0 would make the deadline "now" at every tick, so the coordinator raises it to a minimum.
        let token = driver.send(Requests.join(instance: "a", rebalanceMilliseconds: 0))
        // The first generation begins after the initial delay of 50 ms.
        driver.pass(milliseconds: 60)
        let member = driver.take(token)?.join?.memberID ?? ""
        _ = driver.send(Requests.sync(member: member, generation: 1, instance: "a"))
        // A new member begins a rebalance and leaves, so the group waits for the static member only.
        _ = driver.send(Requests.join(version: 3, rebalanceMilliseconds: 0))
        let newcomer = driver.coordinator.groups["g"]?.members.keys.first { $0 != member } ?? ""
        _ = driver.ask(Requests.leave(member: newcomer))
        for _ in 0..<50 {
            _ = driver.coordinator.tick(at: driver.now)
            #expect(driver.coordinator.nextDeadline > driver.now.steady)
            driver.pass(milliseconds: 100)
        }
        #expect(driver.coordinator.groups["g"]?.state == .preparingRebalance)
        #expect(driver.coordinator.groups["g"]?.staticMemberIDs["a"] == member)
    }
}
