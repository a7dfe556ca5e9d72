import FanOut
import Identifiers
import InstallationRecords
import JSON
import Payloads
import RecordFormat
import Sends
import Testing

/// The subscriptions of a lane: updates of groups without members pass it, and the first member of a group brings the
/// lane its newest state.
struct SubscriptionTests {
    private func update(_ version: Int64, isAnswer: Bool = false) -> Expansion {
        var expansion = makeExpansion(.update, version: version, state: Int(version), send: "s\(version)")
        if isAnswer { expansion.targets = .newMembers }
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

    /// Makes a lane that has passed over an update.
    private func makePassedLane() throws -> OneLane {
        let lane = try OneLane()
        try lane.expand(update(1))
        return lane
    }

    @Test func `a lane without members of a group only closes its updates`() throws {
        let lane = try makePassedLane()
        try lane.expand(update(2))
        #expect(lane.starts.isEmpty && lane.jobs.isEmpty && lane.subscriptions.isEmpty)
        #expect(lane.progress.count == 2 && lane.tally.isEmpty)
    }

    @Test func `an END leaves a row in every lane`() throws {
        let lane = try OneLane()
        try lane.expand(makeExpansion(.end, version: 1))
        #expect(try row(lane)?.endVersion == dawn + 1)
    }

    @Test
    func `the first member after a passed update causes one subscription, and all members get the answer`()
        throws
    {
        let lane = try makePassedLane()
        try lane.reportToken(of: "p1", .update(activity: "a1"))
        try lane.reportToken(of: "p2", .update(activity: "a2"))
        #expect(lane.subscriptions == [Subscription(lane: 0, app: "shop", group: "match")])
        #expect(lane.takeJobs().isEmpty)
        try lane.expand(update(1, isAnswer: true))
        #expect(states(lane.takeJobs()).sorted() == ["p1 1", "p2 1"])
        #expect(lane.progress.count == 1, "an answer does not count in the tally of a send")
        try lane.reportToken(of: "p3", .update(activity: "a3"))
        #expect(states(lane.takeJobs()) == ["p3 1"] && lane.subscriptions.count == 1)
    }

    @Test func `an answer that an update has overtaken causes no push`() throws {
        let lane = try makePassedLane()
        try lane.reportToken(of: "p1", .update(activity: "a1"))
        try lane.expand(update(2))
        #expect(states(lane.takeJobs()) == ["p1 2"])
        for version: Int64 in 1...2 { try lane.expand(update(version, isAnswer: true)) }
        #expect(lane.takeJobs().isEmpty)
        #expect(try row(lane)?.version == dawn + 2)
    }

    @Test func `an answer that arrives without members leaves no row`() throws {
        let lane = try makePassedLane()
        try lane.expand(update(1, isAnswer: true))
        #expect(lane.starts.isEmpty && lane.progress.count == 1)
    }

    @Test func `a subscribed lane keeps the updates of a group that its last member has left`() throws {
        let lane = try makePassedLane()
        try lane.reportToken(of: "p1", .update(activity: "a1"))
        try lane.unregister("p1", .update(activity: "a1"))
        try lane.expand(update(2))
        try lane.reportToken(of: "p2", .update(activity: "a2"))
        #expect(states(lane.takeJobs()) == ["p2 2"] && lane.subscriptions.count == 1)
    }

    @Test func `an answer without a state completes the subscription`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .update(activity: "a1"))
        #expect(try row(lane)?.subscription == .requested)
        try lane.apply(SubscriptionAnswer(key: match, generation: dawn, endVersion: 0))
        #expect(try row(lane)?.subscription == .answered)
        #expect(try row(lane)?.generation == dawn)
        #expect(lane.takeJobs().isEmpty && lane.progress.isEmpty)
    }

    @Test func `a lane subscribes for a token that its app's settings do not serve yet`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .update(activity: "a1")) { $0.environment = .sandbox }
        #expect(lane.subscriptions.count == 1 && lane.takeJobs().isEmpty)
    }

    @Test func `a member that reports half a day later renews the subscription`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .update(activity: "a1"))
        try lane.apply(SubscriptionAnswer(key: match, generation: 0, endVersion: 0))
        lane.now += GroupRow.membershipMilliseconds / 4 - 1
        try lane.reportToken(of: "p1", .update(activity: "a1"))
        #expect(lane.subscriptions.count == 1)
        lane.now += 1
        try lane.reportToken(of: "p1", .update(activity: "a1"))
        #expect(lane.subscriptions.count == 2)
    }

    @Test func `a start does not hide a passed update from members that wait for the answer`() throws {
        let lane = try makePassedLane()
        try lane.reportToken(of: "p1", .update(activity: "a1"))
        try lane.reportToken(of: "p2", .start(type: "Match"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1, state: 1, send: "s0"))
        #expect(states(lane.takeJobs()) == ["p2 1"])
        try lane.expand(update(1, isAnswer: true))
        #expect(states(lane.takeJobs()) == ["p1 1"])
    }

    @Test func `a start of a group without members needs no subscription`() throws {
        let lane = try makePassedLane()
        try lane.reportToken(of: "p1", .start(type: "Match"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1, state: 1))
        try lane.reportToken(of: "p1", .update(activity: "a1"))
        #expect(lane.subscriptions.isEmpty)
    }

    @Test func `an answer causes no push to an activity that was started with the same state`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .start(type: "Match"))
        try lane.expand(update(3))
        let one = Expansion.ScopedRecipient(
            .installation("p1"), scope: .group, generation: dawn + 1, version: dawn + 3)
        let start = makeExpansion(
            .start, to: .recipients([one]), generation: 1, version: 3, state: 3, send: "s4")
        try lane.expand(start)
        #expect(states(lane.takeJobs()) == ["p1 3"])
        try lane.reportToken(of: "p1", .update(activity: "a1"))
        try lane.reportToken(of: "p2", .update(activity: "a2"))
        #expect(lane.subscriptions.count == 1)
        var answer = update(3, isAnswer: true)
        answer.generation = dawn + 1
        try lane.expand(answer)
        #expect(states(lane.takeJobs()) == ["p2 3"])
    }

    @Test func `a cancelled send does not hide a passed update`() throws {
        let lane = try makePassedLane()
        try lane.stop("other", match)
        try lane.reportToken(of: "p1", .update(activity: "a1"))
        #expect(lane.subscriptions.count == 1)
        try lane.expand(update(1, isAnswer: true))
        #expect(states(lane.takeJobs()) == ["p1 1"])
    }
}
