import FanOut
import Identifiers
import InstallationRecords
import Jobs
import Payloads
import Sends
import Testing

// A start by a user's name after an END by activity id opens a separate generation.

/// A lane with three started users, and the sends to them.
private struct StartedLane {
    let users = ["ann", "ben", "cid"]
    let lane: OneLane
    /// A start of all three by name. It may follow an END.
    var again: Expansion

    init() throws {
        lane = try OneLane()
        for user in users {
            try lane.reportToken(of: "p-" + user, user: user, .start(type: "Match"))
            try lane.reportToken(of: "p-" + user, user: user, .update(activity: "a-" + user))
        }
        try lane.expand(makeExpansion(.start, generation: 1, version: 1))
        _ = lane.takeJobs()
        let named = users.map {
            Expansion.ScopedRecipient(.user($0), scope: .group, generation: dawn + 1, version: dawn + 1)
        }
        again = makeExpansion(
            .start, to: .recipients(named), generation: 1, version: 1, state: 1, send: "again")
        again.sequence = dawn + 8
    }

    func end(_ activities: [String] = ["a-ann"], version: Int64) -> Expansion {
        makeExpansion(
            .end, to: .activities(activities), generation: 1, version: version, send: "end\(version)")
    }

    /// Returns an update for ann only. Its state equals its version.
    func update(version: Int64) -> Expansion {
        let named = Expansion.ScopedRecipient(
            .user("ann"), scope: .recipient, generation: dawn + 1, version: dawn + version)
        return makeExpansion(
            .update, to: .recipients([named]), generation: 1, version: 1, state: Int(version),
            send: "u\(version)")
    }

    /// Returns the version and the state of ann's new start.
    func startAgain() throws -> [Int64: String?] {
        _ = lane.takeJobs()
        try lane.expand(again)
        let starts = lane.takeJobs().filter { $0.head.event == .start && $0.recipient == "u:ann" }
        #expect(starts.count == 1 && starts.allSatisfy { $0.head.generation == dawn + 8 })
        return Dictionary(starts.map { ($0.head.version - dawn, Push($0.body).state) }) { $1 }
    }
}

/// Proves what a start by name sends to users whose activities an END by activity id has ended.
struct StartingAgainTests {
    @Test func `a start follows a list of activities that end`() throws {
        let started = try StartedLane()
        let lane = started.lane
        try lane.expand(started.end(started.users.map { "a-" + $0 }, version: 5), rowsMax: 1, toTheEnd: false)
        try lane.expand(started.again, rowsMax: 1, toTheEnd: false)
        try lane.expandRemainingPages()
        let starts = lane.takeJobs().filter { $0.head.event == .start }
        #expect(starts.map(\.recipient) == started.users.map { "u:" + $0 })
        #expect(starts.allSatisfy { $0.head.generation == dawn + 8 })
    }

    @Test func `an update between the END and the start gives way to the start`() throws {
        let started = try StartedLane()
        try started.lane.expand(started.end(version: 5))
        try started.lane.expand(started.update(version: 7))
        #expect(started.lane.tally.excludedByReason == ["ended": 1])
        #expect(try started.startAgain() == [8: "1"])
        try started.lane.expand(started.update(version: 9))
        try started.lane.stop("u9", match)
        _ = started.lane.takeJobs()
        try started.lane.reportToken(of: "p-ann", user: "ann", .update(activity: "b-ann"))
        #expect(started.lane.takeStates() == ["1"], "the state of the start stands after the cancel")
    }

    @Test func `a start that was sent to the lane again opens no second generation`() throws {
        let started = try StartedLane()
        try started.lane.expand(started.end(version: 5))
        #expect(try started.startAgain() == [8: "1"])
        try started.lane.expand(started.end(version: 9))
        _ = started.lane.takeJobs()
        try started.lane.expand(started.again)
        #expect(started.lane.takeJobs().isEmpty)
    }

    @Test func `a cancelled start has opened its generation`() throws {
        let started = try StartedLane()
        func named(generation: Int64, version: Int64) -> Expansion.Targets {
            .recipients([
                Expansion.ScopedRecipient(
                    .user("ann"), scope: .recipient, generation: dawn + generation, version: dawn + version)
            ])
        }
        try started.lane.expand(
            makeExpansion(.end, to: named(generation: 1, version: 5), generation: 1, version: 1, send: "end"))
        try started.lane.expand(
            makeExpansion(
                .start, to: named(generation: 7, version: 7), generation: 1, version: 1, send: "taken"))
        try started.lane.stop("taken", match)
        try started.lane.reportToken(of: "q-ann", user: "ann", .start(type: "Match"))
        _ = started.lane.takeJobs()
        try started.lane.expand(makeExpansion(.start, generation: 1, version: 1, send: "all"))
        let starts = started.lane.takeJobs()
        #expect(starts.map(\.recipient) == ["u:ann"] && starts.map(\.head.generation) == [dawn + 7])
    }

    @Test func `a start carries its user's own state`() throws {
        var started = try StartedLane()
        try started.lane.reportToken(of: "q-ann", user: "ann", .start(type: "Match"))
        started.again.targets = .recipients([
            Expansion.ScopedRecipient(
                .user("ann"), scope: .group, generation: dawn + 1, version: dawn + 9)
        ])
        try started.lane.expand(makeExpansion(.update, generation: 1, version: 4, state: 4, send: "all"))
        _ = started.lane.takeJobs()
        try started.lane.expand(started.again)
        let starts = started.lane.takeJobs()
        #expect(starts.map { Push($0.body).state } == ["1"] && starts.map(\.head.version) == [dawn + 9])
    }

    @Test func `an activity from before a restart gets the state that it lacks`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p", user: "ann", .start(type: "Match"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1, state: 1))
        try lane.expand(makeExpansion(.update, generation: 1, version: 5, state: 5, send: "u5"))
        var restart = makeExpansion(.start, generation: 1, version: 5, state: 5, send: "restart")
        restart.forcesRestart = true
        _ = lane.takeJobs()
        try lane.expand(restart)
        #expect(lane.takeJobs().map(\.head.event) == [.start])
        try lane.reportToken(of: "p", user: "ann", .update(activity: "before"))
        #expect(lane.takeStates() == ["5"])
    }

    @Test(arguments: [(11, false, ["2"]), (11, true, []), (13, false, [])] as [(Int, Bool, [String])])
    func `a group that is started again costs no second push when no earlier activity can come`(
        hoursAfterEnd: Int, hasReported: Bool, states: [String]
    ) throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p", user: "ann", .start(type: "Match"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1, state: 1))
        if hasReported { try lane.reportToken(of: "p", user: "ann", .update(activity: "old")) }
        try lane.expand(makeExpansion(.end, generation: 1, version: 5, send: "end"))
        let start = Int64(hoursAfterEnd) * 3600 + 5
        lane.now = (dawn + start) * 1000
        var again = makeExpansion(.start, generation: start, version: start, state: 2, send: "again")
        (again.deadline, again.expiration) = (dawn + start + 3600, dawn + start + 3600)
        _ = lane.takeJobs()
        try lane.expand(again)
        #expect(lane.takeStates() == ["2"])
        try lane.reportToken(of: "p", user: "ann", .update(activity: "new"))
        #expect(lane.takeStates() == states)
    }

    @Test func `an installation with more activities than starts gets the state on all of them`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p", user: "ann", .start(type: "Match"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1, state: 1))
        // Its app has begun this one. The started activity reports only after the END and the next start.
        try lane.reportToken(of: "p", user: "ann", .update(activity: "own"))
        try lane.expand(makeExpansion(.end, generation: 1, version: 5, send: "end"))
        try lane.unregister("p", user: "ann", .update(activity: "own"))
        try lane.expand(makeExpansion(.start, generation: 8, version: 8, state: 2, send: "again"))
        _ = lane.takeJobs()
        try lane.reportToken(of: "p", user: "ann", .update(activity: "old"))
        #expect(lane.takeStates().isEmpty)
        try lane.reportToken(of: "p", user: "ann", .update(activity: "new"))
        let jobs = lane.takeJobs()
        #expect(jobs.map(\.entry).sorted() == ["update:new", "update:old"])
        #expect(jobs.allSatisfy { Push($0.body).state == "2" })
    }
}
