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
    private let rowsPerPage = 5
    /// The rows that the older send has visited when the newer one arrives: two pages.
    private let visitedBefore = 10

    /// A reason for which a newer update does not end the walk of an older one.
    enum Obstacle: CaseIterable { case olderIsNotConflatable, newerIsNotConflatable, newerExpiresFirst }

    /// Makes a lane with members of the group, which have begun their activities themselves.
    private func laneWithMembers() throws -> OneLane {
        let lane = try OneLane()
        for number in 0..<members { try lane.reportToken(of: "p\(number)", .update(activity: "a\(number)")) }
        return lane
    }

    /// Makes the expansion of an update, or of an END, that shows its own version. Its send is `u` and the version.
    private func expansion(
        _ version: Int64, event: PushEvent = .update, generation: Int64 = 0,
        change: (inout Expansion) -> Void = { _ in }
    ) -> Expansion {
        var expansion = makeExpansion(
            .update, generation: generation, version: version, state: Int(version), send: "u\(version)")
        expansion.content.event = event
        change(&expansion)
        return expansion
    }

    /// Expands two pages of an older send, and then the first page of a newer one. Then the older send goes on, and
    /// notices whether its walk has ended early.
    ///
    /// - Parameter prepare: is called before the older send goes on.
    private func expandTwoPages(
        of older: Expansion, thenOnePageOf newer: Expansion, in lane: OneLane,
        thenDo prepare: () throws -> Void = {}
    ) throws {
        try lane.expand(older, rowsMax: rowsPerPage, toTheEnd: false)
        try lane.expandNextPage(rowsMax: rowsPerPage)
        try lane.expand(newer, rowsMax: rowsPerPage, toTheEnd: false)
        try prepare()
        try lane.expandNextPage(rowsMax: rowsPerPage)
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
        try expandTwoPages(of: expansion(2), thenOnePageOf: expansion(3, event: event), in: lane)
        let found = try #require(tally(of: "u2", in: lane))
        #expect(
            found.targeted == members && found.expanded == visitedBefore
                && found.dropped == members - visitedBefore)
        try lane.expandRemainingPages(rowsMax: rowsPerPage)
        #expect(lane.takeJobs().filter { $0.head.send == "u3" }.count == members)
    }

    @Test(arguments: Obstacle.allCases)
    func `a walk does not end early if a member may need its update`(obstacle: Obstacle) throws {
        let lane = try laneWithMembers()
        let older = expansion(2) { $0.isConflatable = obstacle != .olderIsNotConflatable }
        let newer = expansion(3) {
            $0.isConflatable = obstacle != .newerIsNotConflatable
            if obstacle == .newerExpiresFirst { $0.deadline -= 1 }
        }
        try expandTwoPages(of: older, thenOnePageOf: newer, in: lane)
        #expect(tally(of: "u2", in: lane) == nil, "the older update is still on its way")
        try lane.expandRemainingPages(rowsMax: rowsPerPage)
        let found = try #require(tally(of: "u2", in: lane))
        #expect(found.targeted == members && found.expanded + found.dropped == members)
        // An update that is not conflatable is sent although a newer one exists.
        let sentCount = obstacle == .olderIsNotConflatable ? members : visitedBefore
        #expect(lane.takeJobs().filter { $0.head.send == "u2" }.count == sentCount)
    }

    @Test func `a cancelled update ends no walk`() throws {
        let lane = try laneWithMembers()
        try expandTwoPages(of: expansion(2), thenOnePageOf: expansion(3), in: lane) {
            try lane.stop("u3", match)
        }
        #expect(tally(of: "u2", in: lane) == nil)
    }

    @Test func `an END is never ended early`() throws {
        let lane = try laneWithMembers()
        try expandTwoPages(
            of: expansion(2, event: .end), thenOnePageOf: expansion(3, event: .end), in: lane)
        #expect(tally(of: "u2", in: lane) == nil)
        try lane.expandRemainingPages(rowsMax: rowsPerPage)
        #expect(Set(lane.takeJobs().map(\.token)).count == members)
    }

    @Test func `an update for one recipient ends no walk of the group`() throws {
        let lane = try laneWithMembers()
        let recipient = Expansion.ScopedRecipient(
            .installation("p7"), scope: .recipient, generation: 0, version: dawn + 3)
        let single = makeExpansion(
            .update, to: .recipients([recipient]), version: 3, state: 3, send: "single")
        try expandTwoPages(of: expansion(2), thenOnePageOf: single, in: lane)
        try lane.expandRemainingPages(rowsMax: rowsPerPage)
        #expect(Set(lane.takeJobs().map(\.installation)).count == members)
    }

    @Test func `a start that an END ends reports that it did not visit all recipients`() throws {
        let lane = try OneLane()
        for number in 0..<members { try lane.reportToken(of: "p\(number)", .start(type: "Match")) }
        var end = makeExpansion(.end, generation: 1, version: 2, send: "end")
        end.openedAt = nil
        try expandTwoPages(
            of: makeExpansion(.start, generation: 1, version: 1, send: "start"), thenOnePageOf: end, in: lane)
        let found = try #require(tally(of: "start", in: lane))
        #expect(
            found.hasEndedEarly && found.targeted == visitedBefore && found.expanded == visitedBefore
                && found.dropped == 0)
        var progress = SendProgress(id: "start")
        for record in lane.progress where record.send == "start" { progress.add(record) }
        #expect(progress.partlyVisitedLanes == 1)
    }

    /// A joined member does not report its group. The lane knows the group, because it has started the member's activity.
    @Test func `joined members are counted with the rest`() throws {
        let lane = try OneLane()
        for number in 0..<members { try lane.reportToken(of: "p\(number)", .start(type: "Match")) }
        try lane.expand(makeExpansion(.start, generation: 1, version: 1, send: "start"))
        for number in 0..<members {
            try lane.reportToken(of: "p\(number)", .update(activity: "a\(number)")) { row in
                let isJoined = number % 2 == 0
                if isJoined { row.group = nil }
            }
        }
        // The group has not started these activities, so they are no members.
        for number in 0..<10 {
            try lane.reportToken(of: "q\(number)", .update(activity: "b\(number)")) { $0.group = nil }
        }
        try expandTwoPages(
            of: expansion(2, generation: 1), thenOnePageOf: expansion(3, generation: 1), in: lane)
        let found = try #require(tally(of: "u2", in: lane))
        #expect(found.targeted == members && found.expanded + found.dropped == members && found.dropped > 0)
    }
}
