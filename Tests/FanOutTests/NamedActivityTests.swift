import FanOut
import Identifiers
import InstallationRecords
import Jobs
import Payloads
import Sends
import Testing

/// Sends to activities of a group by their ids, before the lane knows the tokens of these activities.
struct NamedActivityTests {
    private func update(_ names: [String] = ["a1"], version: Int64) -> Expansion {
        makeExpansion(
            .update, to: .activities(names), version: version, state: Int(version), send: "u\(version)")
    }

    private func updateOfGroup(version: Int64) -> Expansion {
        makeExpansion(.update, version: version, state: Int(version), send: "all\(version)")
    }

    @Test func `a token that comes after an update by its activity's id gets it, and later updates follow`()
        throws
    {
        let lane = try OneLane()
        try lane.expand(update(version: 5))
        #expect(lane.tally.isEmpty)
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "a1"))
        try lane.reportToken(of: "p2", user: "ben", .update(activity: "a2"))
        let jobs = lane.takeJobs()
        #expect(jobs.map(\.recipient) == ["u:ann"] && jobs.map { Push($0.body).state } == ["5"])
        // The planner gave this update the timestamp of the other one, because it does not count sends by ids.
        var next = updateOfGroup(version: 6)
        next.timestamp = dawn + 5
        try lane.expand(next)
        let timestamps = Dictionary(lane.takeJobs().map { ($0.recipient, Push($0.body).timestamp - dawn) }) {
            $1
        }
        #expect(timestamps == ["u:ann": 6, "u:ben": 5])
    }

    @Test func `a newer state of the group wins over a kept one`() throws {
        let lane = try OneLane()
        try lane.expand(update(version: 5))
        try lane.expand(updateOfGroup(version: 7))
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "a1"))
        #expect(lane.takeStates() == ["7"])
    }

    @Test func `an END by id ends the activity with its token, and only this activity`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p2", user: "ann", .update(activity: "a2"))
        try lane.expand(makeExpansion(.end, to: .activities(["a1"]), version: 5, send: "end"))
        #expect(lane.takeJobs().isEmpty)
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "a1"))
        #expect(lane.takeJobs().map(\.head.event) == [.end])
        try lane.expand(updateOfGroup(version: 6))
        #expect(lane.takeJobs().map(\.entry) == ["update:a2"])
        #expect(lane.tally.excludedByReason == ["ended": 1])
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "a1"))
        #expect(lane.takeJobs().map(\.head.event) == [.end])
        // Its phone may have missed the END, so it belongs to the next generation like all others.
        try lane.expand(makeExpansion(.start, generation: 8, version: 8, send: "again"))
        try lane.expand(makeExpansion(.update, generation: 8, version: 9, state: 9, send: "all9"))
        #expect(lane.takeJobs().map(\.entry).sorted() == ["update:a1", "update:a2"])
    }

    @Test func `a kept state is only for the group of its send, and not for a cancelled one`() throws {
        let lane = try OneLane()
        try lane.expand(update(version: 5))
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "a1")) { $0.group = "other" }
        #expect(lane.takeJobs().isEmpty)
        try lane.stop("u5", match)
        try lane.reportToken(of: "p2", user: "ben", .update(activity: "a1"))
        #expect(lane.takeJobs().isEmpty)
    }

    @Test func `the states of many activities are not kept, and the planner says so`() throws {
        let names = (0...NamedActivityCopies.keptActivitiesMax).map { "a\($0)" }
        let lane = try OneLane()
        try lane.expand(update(names, version: 5))
        try lane.expand(update(names.dropLast(), version: 6))
        for name in names { try lane.reportToken(of: "p-" + name, user: name, .update(activity: name)) }
        #expect(lane.takeStates() == Array(repeating: "6", count: names.count - 1))
        var rows = Rows()
        for (audience, findingCount) in [(names, 1), (Array(names.dropLast()), 0)] {
            let plan = try planner.plan(
                makeSend(.update, to: .activities(audience), id: "s\(audience.count)"), at: 1, in: &rows)
            guard case .planner(let part) = try #require(plan.progress.first).part else {
                Issue.record("no verdict")
                return
            }
            #expect(part.verdict == .planned && part.findings.count == findingCount)
        }
    }

    @Test func `a dry run keeps nothing`() throws {
        let lane = try OneLane()
        var dry = update(version: 5)
        dry.isDryRun = true
        try lane.expand(dry)
        #expect(lane.starts.isEmpty)
    }
}
