import FanOut
import Identifiers
import InstallationRecords
import Jobs
import Payloads
import Sends
import Testing

// A start by a user's name after an END by activity id opens a separate generation. This holds in any order
// in which the END, the start and later updates reach the lane.

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
        again.reopenedGeneration = dawn + 8
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
    @Test func `a start waits for the END of one activity that arrives by the other topic`() throws {
        var started = try StartedLane()
        started.again.awaitedEndVersion = dawn + 5
        let lane = started.lane
        try lane.expand(started.again, toTheEnd: false)
        #expect(lane.unfinishedExpansions == 1 && lane.progress.last?.send == "s")
        try lane.expandUrgently(started.end(version: 5))
        #expect(lane.takeJobs().map(\.head.event) == [.end])
        try lane.expandRemainingPages()
        let jobs = lane.takeJobs()
        #expect(jobs.map(\.recipient) == ["u:ann"] && jobs.map(\.head.generation) == [dawn + 8])
    }

    @Test func `a start waits at most a minute for an END that never comes`() throws {
        var started = try StartedLane()
        started.again.awaitedEndVersion = dawn + 5
        let lane = started.lane
        try lane.expand(started.again, toTheEnd: false)
        lane.now += 59_000
        try lane.expandNextPage()
        #expect(lane.unfinishedExpansions == 1)
        lane.now += 2_000
        try lane.expandNextPage()
        #expect(lane.unfinishedExpansions == 0 && lane.tally.excludedByReason == ["started": 3])
    }

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

    @Test func `an update that is newer than the start is kept if it comes before the ENDs`() throws {
        let started = try StartedLane()
        try started.lane.expandUrgently(started.update(version: 9))
        try started.lane.expand(started.end(version: 5))
        try started.lane.expand(started.end(version: 6))
        #expect(try started.startAgain() == [9: "9"])
    }

    @Test func `an update that is newer than the start is kept if it comes between the ENDs`() throws {
        let started = try StartedLane()
        try started.lane.expand(started.end(version: 5))
        try started.lane.expandUrgently(started.update(version: 9))
        try started.lane.expand(started.end(version: 6))
        var older = started.update(version: 7)
        older.keepsReplacedState = true
        try started.lane.expand(older)
        #expect(try started.startAgain() == [9: "9"])
    }

    @Test func `after that update is cancelled, the state of the start stands`() throws {
        let started = try StartedLane()
        try started.lane.expand(started.end(version: 5))
        try started.lane.expandUrgently(started.update(version: 9))
        #expect(try started.startAgain() == [9: "9"])
        try started.lane.stop("u9", match)
        try started.lane.reportToken(of: "p-ann", user: "ann", .update(activity: "b-ann"))
        #expect(started.lane.takeStates() == ["1"])
    }

    @Test func `a cancelled start has opened its generation, in any order of start and cancel`() throws {
        let started = try StartedLane()
        func named(generation: Int64, version: Int64) -> Expansion.Targets {
            .recipients([
                Expansion.ScopedRecipient(
                    .user("ann"), scope: .recipient, generation: dawn + generation, version: dawn + version)
            ])
        }
        try started.lane.expand(
            makeExpansion(.end, to: named(generation: 1, version: 5), generation: 1, version: 1, send: "end"))
        try started.lane.stop("taken", match)
        try started.lane.expand(
            makeExpansion(
                .start, to: named(generation: 7, version: 7), generation: 1, version: 1, send: "taken"))
        _ = started.lane.takeJobs()
        try started.lane.expand(makeExpansion(.start, generation: 1, version: 1, send: "all"))
        let starts = started.lane.takeJobs()
        #expect(starts.map(\.recipient) == ["u:ann"] && starts.map(\.head.generation) == [dawn + 7])
    }

    @Test func `a start that carries its user's own state does so even if the update has not arrived`() throws
    {
        var started = try StartedLane()
        try started.lane.reportToken(of: "q-ann", user: "ann", .start(type: "Match"))
        started.again.targets = .recipients([
            Expansion.ScopedRecipient(
                .user("ann"), scope: .group, generation: dawn + 1, version: dawn + 9)
        ])
        started.again.carriesOwnState = true
        try started.lane.expand(makeExpansion(.update, generation: 1, version: 4, state: 4, send: "all"))
        _ = started.lane.takeJobs()
        try started.lane.expand(started.again)
        let starts = started.lane.takeJobs()
        #expect(starts.map { Push($0.body).state } == ["1"] && starts.map(\.head.version) == [dawn + 9])
    }

    @Test func `of two starts, the one that has waited goes first`() throws {
        var started = try StartedLane()
        let lane = started.lane
        started.again.awaitedEndVersion = dawn + 5
        try lane.expand(started.again, toTheEnd: false)
        try lane.expandUrgently(started.end(version: 5))
        var second = started.again
        (second.send, second.reopenedGeneration) = ("second", dawn + 9)
        _ = lane.takeJobs()
        // The first start is at the end of the topic again, so the second one is read before it.
        try lane.expandUrgently(second)
        #expect(lane.takeJobs().isEmpty)
        try lane.expandRemainingPages()
        #expect(
            lane.takeJobs().map(\.head.generation) == [dawn + 8], "the second start joins that generation")
    }

    /// Returns a start of ann that opens a separate generation or joins it.
    private func startOfAnn(version: Int64, state: Int, send: String) -> Expansion {
        let ann = Expansion.ScopedRecipient(
            .user("ann"), scope: .recipient, generation: dawn + 7, version: dawn + version)
        return makeExpansion(
            .start, to: .recipients([ann]), generation: 1, version: 1, state: state, send: send)
    }

    @Test func `a start that joins a generation before its opening start decides the state for late tokens`()
        throws
    {
        let started = try StartedLane()
        let lane = started.lane
        try lane.expand(started.end(version: 5))
        _ = lane.takeJobs()
        try lane.expand(startOfAnn(version: 1, state: 3, send: "joins"))
        #expect(lane.takeStates() == ["3"])
        try lane.reportToken(of: "p-ann", user: "ann", .update(activity: "late"))
        #expect(lane.takeStates() == ["3"])
        try lane.expand(startOfAnn(version: 7, state: 4, send: "opens"))
        #expect(lane.takeJobs().isEmpty)
        try lane.reportToken(of: "p-ann", user: "ann", .update(activity: "later"))
        #expect(lane.takeStates() == ["4"])
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

    @Test func `after a list is cancelled, an older update that came late stands`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p", user: "ann", .update(activity: "a"))
        func update(_ version: Int64, keepsReplaced: Bool) -> Expansion {
            var update = makeExpansion(
                .update,
                to: .recipients([
                    Expansion.ScopedRecipient(
                        .user("ann"), scope: .recipient, generation: 0, version: dawn + version)
                ]), version: 1, state: Int(version), send: "u\(version)")
            update.keepsReplacedState = keepsReplaced
            return update
        }
        try lane.expand(update(5, keepsReplaced: false))
        try lane.expand(update(7, keepsReplaced: true))
        try lane.expandUrgently(update(6, keepsReplaced: false))
        try lane.stop("u7", match)
        _ = lane.takeJobs()
        try lane.reportToken(of: "q", user: "ann", .update(activity: "b"))
        #expect(lane.takeStates() == ["6"])
    }
}
