import CatalogRecords
import FanOut
import Identifiers
import InstallationRecords
import Jobs
import Payloads
import Registry
import Sends
import Testing

// The ENDs that the lane sends shortly before the system ends an activity itself.
extension ExpanderTests {
    @Test func `every activity gets one safety END with its newest state before the system ends it`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .start(type: "Match"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1))
        try lane.reportToken(of: "p1", .update(activity: "started"))
        try lane.expand(makeExpansion(.update, generation: 1, version: 2, state: 7))
        // Activities that their apps began: in a group with an open generation, in a group without sends, and
        // in no group.
        try lane.reportToken(of: "p2", .update(activity: "told"))
        try lane.reportToken(of: "p3", .update(activity: "unknown")) { $0.group = "nobody's" }
        try lane.reportToken(of: "p4", .update(activity: "alone")) { $0.group = nil }
        try lane.reportToken(of: "p5", .update(activity: "silent")) { $0.group = nil }
        let alone = ScopeKey(app: "shop", activity: "alone")
        try lane.expand(
            makeExpansion(.update, to: .activities(["alone"]), key: alone, version: 3, state: 9, send: "own"))
        _ = lane.takeJobs()
        lane.now += SafetyEnd.milliseconds - 1
        try lane.sendSafetyEnds()
        #expect(lane.takeJobs().isEmpty)
        lane.now += 1
        try lane.sendSafetyEnds()
        let ends = lane.takeJobs()
        #expect(ends.allSatisfy { $0.head.event == .end })
        #expect(ends.compactMap { Push($0.body).state }.sorted() == ["7", "7", "9"])
        #expect(ends.count == 5)
        #expect(ends.compactMap(\.head.group).sorted() == ["match", "match", "nobody's"])
        lane.now += 60_000
        try lane.sendSafetyEnds()
        #expect(lane.takeJobs().isEmpty, "once")
    }

    @Test func `an activity that joins a group later gets one safety END`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .update(activity: "a")) { $0.group = nil }
        lane.now += 1000
        try lane.reportToken(of: "p1", .update(activity: "a"))
        lane.now += SafetyEnd.milliseconds
        try lane.sendSafetyEnds()
        #expect(lane.takeJobs().map(\.head.group) == ["match"])
    }

    @Test func `a safety END skips activities that have ended and newer starts`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .start(type: "Match"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1))
        try lane.reportToken(of: "p1", .update(activity: "first"))
        try lane.expand(makeExpansion(.end, generation: 1, version: 60))
        lane.now += 4 * 3_600_000
        try lane.unregister("p1", .update(activity: "first"))
        var second = makeExpansion(.start, generation: 14_400, version: 14_400, send: "second")
        second.deadline += 14_400
        try lane.expand(second)
        try lane.reportToken(of: "p1", .update(activity: "second"))
        #expect(lane.takeJobs().filter { $0.head.event == .start }.count == 2)
        lane.now = dawn * 1000 + SafetyEnd.milliseconds
        try lane.sendSafetyEnds()
        #expect(lane.takeJobs().isEmpty)
        lane.now += 14_400_000
        try lane.sendSafetyEnds()
        #expect(lane.takeJobs().map(\.entry) == ["update:second"])
    }

    @Test func `an activity that its app begins after an END has its own eight hours`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .update(activity: "first"))
        try lane.expand(makeExpansion(.end, version: 60))
        lane.now += 4 * 3_600_000
        try lane.unregister("p1", .update(activity: "first"))
        try lane.reportToken(of: "p1", .update(activity: "second"))
        _ = lane.takeJobs()
        lane.now = dawn * 1000 + SafetyEnd.milliseconds
        try lane.sendSafetyEnds()
        #expect(lane.takeJobs().isEmpty)
        lane.now += 4 * 3_600_000
        try lane.sendSafetyEnds()
        #expect(lane.takeJobs().map(\.entry) == ["update:second"])
    }

    @Test func `a start that ended long ago does not replace a newer one`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .start(type: "Match"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1))
        lane.now += 7 * 3_600_000
        let other = ScopeKey(app: "shop", group: "other")
        var second = makeExpansion(.start, key: other, generation: 25_200, version: 25_200, send: "second")
        second.deadline += 25_200
        try lane.expand(second)
        lane.now = dawn * 1000 + SafetyEnd.milliseconds
        try lane.sendSafetyEnds()
        var update = makeExpansion(.update, key: other, version: 28_300, state: 5, send: "update")
        update.deadline += 28_300
        try lane.expand(update)
        _ = lane.takeJobs()
        try lane.reportToken(of: "p1", .update(activity: "told no group")) { $0.group = nil }
        #expect(lane.takeJobs().map(\.head.group) == ["other"])
    }
}
