import FanOut
import Identifiers
import InstallationRecords
import Jobs
import Payloads
import Sends
import Testing

/// Tests of walks that end before they have visited all members of a group.
struct EarlyEndTests {
    private let members = 40

    /// Makes a lane with members of the group, which have begun their activities themselves.
    private func laneWithMembers() throws -> OneLane {
        let lane = try OneLane()
        for number in 0..<members { try lane.reportToken(of: "p\(number)", .update(activity: "a\(number)")) }
        return lane
    }

    private func update(_ version: Int64, _ change: (inout Expansion) -> Void = { _ in }) -> Expansion {
        var update = makeExpansion(.update, version: version, state: Int(version), send: "u\(version)")
        change(&update)
        return update
    }

    /// Expands two pages of five tokens of a send, then the first page of a second send, and then lets the first send
    /// go on.
    ///
    /// - Parameter interruption: happens before the first send goes on.
    private func begin(
        _ first: Expansion, then second: Expansion, in lane: OneLane,
        before interruption: () throws -> Void = {}
    ) throws {
        try lane.expand(first, rowsMax: 5, toTheEnd: false)
        try lane.expandNextPage(rowsMax: 5)
        try lane.expand(second, rowsMax: 5, toTheEnd: false)
        try interruption()
        try lane.expandNextPage(rowsMax: 5)
    }

    private func tally(of send: String, in lane: OneLane) -> LaneTally? {
        for progress in lane.progress where progress.send == send {
            if case .lanes(_, let tally) = progress.part { return tally }
        }
        return nil
    }

    @Test(arguments: [PushEvent.update, .end])
    func `a newer update or END ends the walk of an update, and the rest is counted`(event: PushEvent) throws
    {
        let lane = try laneWithMembers()
        var newer = update(3)
        newer.content.event = event
        try begin(update(2), then: newer, in: lane)
        let found = try #require(tally(of: "u2", in: lane))
        #expect(found.targeted == members && found.expanded == 10 && found.dropped == members - 10)
        try lane.expandRemainingPages(rowsMax: 5)
        #expect(lane.takeJobs().filter { $0.head.send == "u3" }.count == members)
    }

    @Test(arguments: [
        "the older is not conflatable", "the newer is not conflatable", "the newer expires first",
    ])
    func `a walk does not end early if a member may need its update`(reason: String) throws {
        let lane = try laneWithMembers()
        let older = update(2) { $0.isConflatable = reason != "the older is not conflatable" }
        let newer = update(3) {
            $0.isConflatable = reason != "the newer is not conflatable"
            if reason == "the newer expires first" { $0.deadline -= 1 }
        }
        try begin(older, then: newer, in: lane)
        #expect(tally(of: "u2", in: lane) == nil, "the older update is still on its way")
        try lane.expandRemainingPages(rowsMax: 5)
        let found = try #require(tally(of: "u2", in: lane))
        #expect(found.targeted == members && found.expanded + found.dropped == members)
        let isAlwaysSent = reason == "the older is not conflatable"
        #expect(lane.takeJobs().filter { $0.head.send == "u2" }.count == (isAlwaysSent ? members : 10))
    }

    @Test func `a cancelled update ends no walk`() throws {
        let lane = try laneWithMembers()
        try begin(update(2), then: update(3), in: lane) { try lane.stop("u3", match) }
        #expect(tally(of: "u2", in: lane) == nil)
    }

    @Test func `an END is never ended early`() throws {
        let lane = try laneWithMembers()
        var ends = [update(2), update(3)]
        for index in ends.indices { ends[index].content.event = .end }
        try begin(ends[0], then: ends[1], in: lane)
        #expect(tally(of: "u2", in: lane) == nil)
        try lane.expandRemainingPages(rowsMax: 5)
        #expect(Set(lane.takeJobs().map(\.token)).count == members)
    }

    @Test func `an update for one user ends no walk of the group`() throws {
        let lane = try laneWithMembers()
        let one = Expansion.ScopedRecipient(
            .installation("p7"), scope: .recipient, generation: 0, version: dawn + 3)
        let single = makeExpansion(.update, to: .recipients([one]), version: 2, state: 3, send: "single")
        try begin(update(2), then: single, in: lane)
        try lane.expandRemainingPages(rowsMax: 5)
        #expect(Set(lane.takeJobs().map(\.installation)).count == members)
    }

    @Test func `a start that an END ends reports that it did not visit all recipients`() throws {
        let lane = try OneLane()
        for number in 0..<members { try lane.reportToken(of: "p\(number)", .start(type: "Match")) }
        var end = makeExpansion(.end, generation: 1, version: 2, send: "end")
        end.openedAt = nil
        try begin(makeExpansion(.start, generation: 1, version: 1), then: end, in: lane)
        let found = try #require(tally(of: "s", in: lane))
        #expect(found.hasEndedEarly && found.targeted == 10 && found.expanded == 10 && found.dropped == 0)
        var progress = SendProgress(id: "s")
        for record in lane.progress where record.send == "s" { progress.add(record) }
        #expect(progress.partlyVisitedLanes == 1)
    }

    @Test func `joined members are counted with the rest`() throws {
        let lane = try OneLane()
        for number in 0..<members { try lane.reportToken(of: "p\(number)", .start(type: "Match")) }
        try lane.expand(makeExpansion(.start, generation: 1, version: 1, send: "start"))
        for number in 0..<members {
            try lane.reportToken(of: "p\(number)", .update(activity: "a\(number)")) { row in
                if number % 2 == 0 { row.group = nil }
            }
        }
        // These belong to no group.
        for number in 0..<10 {
            try lane.reportToken(of: "q\(number)", .update(activity: "b\(number)")) { $0.group = nil }
        }
        try begin(
            update(2) { $0.generation = dawn + 1 }, then: update(3) { $0.generation = dawn + 1 }, in: lane)
        let found = try #require(tally(of: "u2", in: lane))
        #expect(found.targeted == members && found.expanded + found.dropped == members && found.dropped > 0)
    }
}
