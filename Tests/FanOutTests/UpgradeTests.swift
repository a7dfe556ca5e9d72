import InstallationRecords
import JSON
import Jobs
import Payloads
import RecordFormat
import Sends
import Testing

@testable import FanOut

/// Rows of a version without subscriptions. Activities that are open at the upgrade get all their updates.
struct UpgradeTests {
    private let reader = JSONReader()

    /// A row of `groups` as that version wrote it: a group that was started for everyone, and updated.
    private func earlierGroup() throws -> GroupRow {
        let text = """
            {"v":1,"generation":\(dawn),"openedAt":\(dawn)000,"version":\(dawn + 5),"highest":\(dawn + 5),\
            "updatedAt":\(dawn + 5),"newest":{"send":"u1","version":\(dawn + 5),"event":"update",\
            "contentState":{"goals":1},"priority":10,"deadline":\(dawn + 28800),"expiration":\(dawn + 28800),\
            "acceptedAt":\(dawn)000},"attributesType":"Match","updates":1,"words":2,"lastAt":\(dawn + 5)000}
            """
        return try GroupRow.decode(Array(text.utf8), with: reader)
    }

    @Test func `an open group gets every lane until its row is forgotten, and then the lanes with members`()
        throws
    {
        var rows = Rows()
        rows.rows[match] = try earlierGroup()
        #expect(rows.rows[match]?.newestState?.send == "u1")
        let update = try planner.plan(makeSend(.update, id: "u2", state: 2), at: 10, in: &rows)
        #expect(update.expansions.map(\.lanes) == [.every])
        let question = #"{"v":1,"subscribes":2,"app":"shop","group":"match"}"#
        let request = try SendRequest.decode(Array(question.utf8), with: reader)
        let answer = try planner.plan(request, stamp: (dawn + 11) * 1000, app: nil, in: &rows)
        #expect(answer.expansions.map(\.lanes) == [.only(LaneSet([2]))])
        let cancel = try planner.cancel("u2", at: 12, in: &rows)
        #expect(cancel.requests.first?.lanes == .every)
        let end = try planner.plan(makeSend(.end), at: 13, in: &rows)
        #expect(end.expansions.map(\.lanes) == [.every])
        let later = 20 + GroupRow.retentionMilliseconds / 1000
        let subscription = Subscription(lane: 1, app: "shop", group: "match")
        _ = try planner.plan(.subscription(subscription), stamp: (dawn + later) * 1000, app: nil, in: &rows)
        let narrowed = try planner.plan(makeSend(.update, id: "u3", state: 3), at: later + 1, in: &rows)
        #expect(narrowed.expansions.map(\.lanes) == [.only(LaneSet([1]))])
    }

    @Test func `a lane keeps the row of an open group, and subscribes to a group without a row`() throws {
        let state = """
            {"send":"u1","version":\(dawn + 5),"event":"update","contentState":{"goals":1},"priority":10,\
            "deadline":\(dawn + 28800),"expiration":\(dawn + 28800),"acceptedAt":\(dawn)000}
            """
        let open =
            #"{"v":1,"generation":\#(dawn),"version":\#(dawn + 5),"newest":\#(state),"hasStarts":true,"at":\#(dawn)000}"#
        let quiet = #"{"v":1,"generation":0,"version":0,"subscription":"missing","at":\#(dawn)000}"#
        let lane = try OneLane(starts: [(match, open), (ScopeKey(app: "shop", group: "quiet"), quiet)])
        try lane.reportToken(of: "p1", .update(activity: "a1"))
        #expect(lane.subscriptions.isEmpty, "every lane gets the sends to this group")
        #expect(lane.takeStates() == ["1"])
        try lane.expand(makeExpansion(.update, generation: 0, version: 9, state: 9, send: "u2"))
        #expect(lane.takeStates() == ["9"])
        try lane.subscribe(to: ["match", "quiet", "silent"])
        #expect(lane.subscriptions.map(\.group) == ["quiet", "silent"])
    }

    @Test func `an open match goes on in order, from records in which versions were timestamps`() throws {
        var rows = Rows()
        rows.rows[match] = try earlierGroup()
        // The update comes in the second of the newest update of that version.
        let update = try planner.plan(makeSend(.update, id: "u2", state: 2), at: 5, in: &rows)
        #expect(update.timestamps == [dawn + 6] && update.versions[0] > dawn + 5)
        let joined = try planner.plan(makeSend(.start, to: .everyone, id: "s2"), at: 6, in: &rows)
        #expect(joined.expansions.map(\.expansion.generation) == [dawn])
        let end = try planner.plan(makeSend(.end, id: "end"), at: 6, in: &rows)
        #expect(end.timestamps == [dawn + 7] && end.versions[0] > update.versions[0])

        let row = #"{"v":1,"generation":\#(dawn),"version":\#(dawn + 4),"hasStarts":true,"at":\#(dawn)000}"#
        let lane = try OneLane(starts: [(match, row)])
        try lane.reportToken(of: "p1", .update(activity: "a1"))
        let waiting = """
            {"v":1,"send":"u1","app":"shop","group":"match","targets":"group","event":"update",\
            "contentState":{"goals":1},"priority":10,"generation":\(dawn),"version":\(dawn + 5),\
            "deadline":\(dawn + 28800),"expiration":\(dawn + 28800),"acceptedAt":\(dawn)000}
            """
        let older = try Expansion.decode(Array(waiting.utf8), with: reader)
        try lane.expand(older)
        for plan in [update, end] { for part in plan.expansions { try lane.expand(part.expansion) } }
        let pushes = lane.takeJobs().map { Push($0.body) }
        #expect(pushes.map(\.timestamp) == [dawn + 5, dawn + 6, dawn + 7])
        #expect(pushes.map(\.event) == [.update, .update, .end])
        try lane.expand(older)
        #expect(lane.takeJobs().isEmpty, "the END is newer than a record of the earlier version")
    }

    @Test func `the rest of a list, of which no row is written, begins for its recipients`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "a1"))
        let text = """
            {"v":1,"send":"list","app":"shop","group":"match","targets":{"recipients":[\
            {"recipient":"u:ann","scope":"recipient","generation":0,"version":\(dawn + 5)},\
            {"recipient":"u:bob","scope":"recipient","generation":0,"version":\(dawn + 5)}]},"event":"update",\
            "contentState":{"goals":5},"priority":10,"generation":0,"version":\(dawn + 1),\
            "deadline":\(dawn + 28800),"expiration":\(dawn + 28800),"acceptedAt":\(dawn)000,\
            "cursor":"0301000000","targeted":2,"expanded":2}
            """
        try lane.resume(try Expansion.decode(Array(text.utf8), with: reader))
        #expect(lane.takeStates() == ["5"])
        try lane.reportToken(of: "p2", user: "bob", .update(activity: "b1"))
        #expect(lane.takeStates() == ["5"])
    }

    @Test func `a start that waited for other sends begins at once, and opens its generation`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", user: "ann", .start(type: "Match"))
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "a1"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1))
        try lane.expand(
            makeExpansion(.end, to: .activities(["a1"]), generation: 1, version: 5, send: "end"))
        _ = lane.takeJobs()
        let text = """
            {"v":2,"send":"again","app":"shop","group":"match","targets":{"recipients":[\
            {"recipient":"u:ann","generation":\(dawn + 1),"version":\(dawn + 1),"timestamp":\(dawn + 1)}]},\
            "event":"start","attributesType":"Match","attributes":{},"contentState":{"goals":7},"priority":10,\
            "generation":\(dawn + 1),"version":\(dawn + 1),"timestamp":\(dawn + 1),"deadline":\(dawn + 28800),\
            "expiration":\(dawn + 28800),"acceptedAt":\(dawn)000,"openedAt":\(dawn)000,"reopens":\(dawn + 8),\
            "waitsFor":["list"],"behindEnd":\(dawn + 5),"waitsUntil":\(dawn + 60)}
            """
        try lane.resume(try Expansion.decode(Array(text.utf8), with: reader))
        let starts = lane.takeJobs()
        #expect(starts.map(\.head.generation) == [dawn + 8] && starts.map(\.head.event) == [.start])
    }
}
