import FanOut
import JSON
import LiveActivity
import Testing

/// Updates of groups that a lane has nobody of, and who comes to such a group.
struct PassingTests {
    private func update(_ version: Int64, isAnswer: Bool = false) -> Expansion {
        var expansion = makeExpansion(.update, version: version, state: Int(version), send: "s\(version)")
        expansion.isAnswer = isAnswer
        return expansion
    }

    private func row(_ lane: OneLane) throws -> LaneScope? {
        try lane.starts.last { $0.key == match.bytes }.map { row in
            try LaneScope.decode(row.value, with: JSONReader())
        }
    }

    private func states(_ jobs: [Job]) -> [String] {
        jobs.map { "\($0.installation) \(Push($0.body).state ?? "-")" }
    }

    /// A lane that has let an update pass.
    private func makePassedLane() throws -> OneLane {
        let lane = try OneLane()
        try lane.expand(update(1))
        return lane
    }

    @Test func `a lane that has nobody of a group only says that it is through its updates`() throws {
        let lane = try makePassedLane()
        try lane.expand(update(2))
        #expect(lane.starts.isEmpty && lane.jobs.isEmpty && lane.enquiries.isEmpty)
        #expect(lane.progress.count == 2 && lane.tally.isEmpty)
    }

    @Test func `an end leaves a row in every lane`() throws {
        let lane = try OneLane()
        try lane.expand(makeExpansion(.end, version: 1))
        #expect(try row(lane)?.endedAt == dawn + 1)
    }

    @Test func `who comes where updates have passed is asked for once, and is brought the answer`() throws {
        let lane = try makePassedLane()
        try lane.phone("p1", .update(activity: "a1"))
        try lane.phone("p2", .update(activity: "a2"))
        #expect(lane.enquiries == [Enquiry(lane: 0, app: "shop", group: "match")])
        #expect(lane.takeJobs().isEmpty)
        try lane.expand(update(1, isAnswer: true))
        #expect(states(lane.takeJobs()).sorted() == ["p1 1", "p2 1"])
        #expect(lane.progress.count == 1, "an answer is no part of what a send comes to")
        try lane.phone("p3", .update(activity: "a3"))
        #expect(states(lane.takeJobs()) == ["p3 1"] && lane.enquiries.count == 1)
    }

    @Test func `an answer that an update has overtaken brings nobody anything`() throws {
        let lane = try makePassedLane()
        try lane.phone("p1", .update(activity: "a1"))
        try lane.expand(update(2))
        #expect(states(lane.takeJobs()) == ["p1 2"])
        for version: Int64 in 1...2 { try lane.expand(update(version, isAnswer: true)) }
        #expect(lane.takeJobs().isEmpty)
        #expect(try row(lane)?.version == dawn + 2)
    }

    @Test func `an answer that comes when nobody is left leaves no row`() throws {
        let lane = try makePassedLane()
        try lane.expand(update(1, isAnswer: true))
        #expect(lane.starts.isEmpty && lane.progress.count == 1)
    }

    @Test func `an update that passes after an enquiry is asked for, too`() throws {
        let lane = try makePassedLane()
        try lane.phone("p1", .update(activity: "a1"))
        try lane.unregister("p1", .update(activity: "a1"))
        try lane.expand(update(2))
        try lane.phone("p2", .update(activity: "a2"))
        #expect(lane.enquiries.count == 2)
    }

    @Test func `a lane to which nothing has come asks nothing`() throws {
        let lane = try OneLane()
        try lane.phone("p1", .update(activity: "a1"))
        #expect(lane.enquiries.isEmpty)
    }

    @Test func `an urgent start that came behind what has passed does not hide it`() throws {
        let lane = try OneLane()
        try lane.phone("p1", .start(type: "Match"))
        try lane.expand(update(3))
        let one = Expansion.ScopedRecipient(
            .installation("p1"), scope: .group, generation: dawn + 1, version: dawn + 1)
        try lane.expandUrgently(
            makeExpansion(.start, to: .recipients([one]), generation: 1, version: 1, state: 1, send: "s0"))
        #expect(states(lane.takeJobs()) == ["p1 1"])
        try lane.phone("p1", .update(activity: "a1"))
        #expect(lane.enquiries.count == 1)
        try lane.expand(update(3, isAnswer: true))
        #expect(states(lane.takeJobs()) == ["p1 3"])
    }

    @Test func `a start does not hide what has passed from who has asked for it`() throws {
        let lane = try makePassedLane()
        try lane.phone("p1", .update(activity: "a1"))
        try lane.phone("p2", .start(type: "Match"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1, state: 1, send: "s0"))
        #expect(states(lane.takeJobs()) == ["p2 1"])
        try lane.expand(update(1, isAnswer: true))
        #expect(states(lane.takeJobs()) == ["p1 1"])
    }

    @Test func `a start of a group that nobody is in leaves nothing to ask for`() throws {
        let lane = try makePassedLane()
        try lane.phone("p1", .start(type: "Match"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1, state: 1))
        try lane.phone("p1", .update(activity: "a1"))
        #expect(lane.enquiries.isEmpty)
    }

    @Test func `an answer is nothing to who was started with the same`() throws {
        let lane = try OneLane()
        try lane.phone("p1", .start(type: "Match"))
        try lane.expand(update(3))
        let one = Expansion.ScopedRecipient(
            .installation("p1"), scope: .group, generation: dawn + 1, version: dawn + 3)
        var start = makeExpansion(
            .start, to: .recipients([one]), generation: 1, version: 3, state: 3, send: "s4")
        start.saysOwnState = true
        try lane.expandUrgently(start)
        #expect(states(lane.takeJobs()) == ["p1 3"])
        try lane.phone("p1", .update(activity: "a1"))
        try lane.phone("p2", .update(activity: "a2"))
        #expect(lane.enquiries.count == 1)
        var answer = update(3, isAnswer: true)
        answer.generation = dawn + 1
        try lane.expand(answer)
        #expect(states(lane.takeJobs()) == ["p2 3"])
    }

    @Test func `a send that was taken back does not hide what has passed`() throws {
        let lane = try makePassedLane()
        try lane.stop("other", match)
        try lane.phone("p1", .update(activity: "a1"))
        #expect(lane.enquiries.count == 1)
        try lane.expand(update(1, isAnswer: true))
        #expect(states(lane.takeJobs()) == ["p1 1"])
    }
}
