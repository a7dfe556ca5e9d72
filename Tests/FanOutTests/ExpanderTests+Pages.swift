import CatalogRecords
import FanOut
import Identifiers
import InstallationRecords
import Jobs
import Payloads
import Registry
import Sends
import Testing

// Sends, cancels and tokens that come while an expansion walks its recipients page by page, and after it.
extension ExpanderTests {
    @Test func `a newer update drops the rest of an older update, but not of a start`() throws {
        let lane = try OneLane()
        for number in 0..<4 {
            try lane.reportToken(of: "p\(number)", .start(type: "Match"))
            try lane.reportToken(of: "q\(number)", .update(activity: "a\(number)"))
        }
        // All three begin before the start is walked to its end.
        try lane.expand(makeExpansion(.start, generation: 1, version: 1), rowsMax: 1, toTheEnd: false)
        try lane.expand(
            makeExpansion(.update, generation: 1, version: 2, state: 2, send: "u2"), rowsMax: 1,
            toTheEnd: false)
        try lane.expand(
            makeExpansion(.update, generation: 1, version: 3, state: 3, send: "u3"), rowsMax: 1)
        let jobs = lane.takeJobs()
        let started = jobs.filter { $0.head.event == .start }
        #expect(started.map { $0.head.version - dawn } == [1, 3, 3, 3])
        #expect(started.last.map { Push($0.body).state } == "3")
        #expect(jobs.filter { $0.head.send == "u3" }.count == 4)
        #expect(jobs.filter { $0.head.send == "u2" }.count == 1)
    }

    @Test func `a cancelled send stops, and its remaining recipients are counted`() throws {
        let lane = try OneLane()
        for number in 0..<5 { try lane.reportToken(of: "p\(number)", .start(type: "Match")) }
        try lane.expand(makeExpansion(.start, generation: 1, version: 1), rowsMax: 2, toTheEnd: false)
        try lane.stop("s", match)
        try lane.expandRemainingPages()
        #expect(lane.takeJobs().count == 2)
        #expect(lane.tally.expanded == 2 && lane.tally.dropped == 3 && lane.tally.targeted == 5)
    }

    @Test func `a cancelled update is not sent to late tokens`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .start(type: "Match"))
        try lane.expand(makeExpansion(.update, version: 2, state: 4))
        try lane.stop("s", match)
        try lane.reportToken(of: "p2", .update(activity: "a"))
        #expect(lane.takeJobs().isEmpty)
        try lane.expand(makeExpansion(.start, generation: 1, version: 1, state: 1, send: "start"))
        #expect(lane.takeStates() == ["1"])
    }

    @Test func `a start does not carry a cancelled update of one user`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", user: "ann", .start(type: "Match"))
        let ann = Expansion.ScopedRecipient(
            .user("ann"), scope: .recipient, generation: dawn + 1, version: dawn + 2)
        try lane.expand(
            makeExpansion(.update, to: .recipients([ann]), generation: 1, version: 1, state: 2, send: "u2"))
        try lane.stop("u2", match)
        try lane.expand(makeExpansion(.start, generation: 1, version: 1, state: 1, send: "start"))
        #expect(lane.takeStates() == ["1"])
    }

    @Test func `the state of a list holds again for a user when the later update is cancelled`() throws {
        let lane = try OneLane()
        func ann(_ version: Int64, _ send: String) -> Expansion {
            let scoped = Expansion.ScopedRecipient(
                .user("ann"), scope: .recipient, generation: 0, version: dawn + version)
            return makeExpansion(
                .update, to: .recipients([scoped]), version: 1, state: Int(version), send: send)
        }
        for expansion in [ann(2, "list"), ann(3, "single")] { try lane.expand(expansion) }
        try lane.stop("single", match)
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "a"))
        #expect(lane.takeStates() == ["2"])
        try lane.expand(ann(4, "next"))
        try lane.stop("next", match)
        try lane.reportToken(of: "p2", user: "ann", .update(activity: "b"))
        #expect(lane.takeStates() == ["4", "2"])
    }

    @Test func `a list begins for all its recipients before the next send begins`() throws {
        let lane = try OneLane()
        let users = ["ann", "bob", "cid", "dan"]
        for user in users { try lane.reportToken(of: "p-" + user, user: user, .start(type: "Match")) }
        let named = users.map {
            Expansion.ScopedRecipient(
                .user($0), scope: .recipient, generation: dawn + 1, version: dawn + 2)
        }
        try lane.expandAtOnce(
            [
                makeExpansion(.start, to: .tags(["none"]), generation: 1, version: 1, send: "opens"),
                makeExpansion(
                    .update, to: .recipients(named), generation: 1, version: 1, state: 2, send: "u2"),
                makeExpansion(.start, generation: 1, version: 1, state: 1, send: "start"),
            ], rowsMax: 1)
        #expect(lane.takeStates() == ["2"], "the walk of the start has passed the walk of the list")
        try lane.expandRemainingPages(rowsMax: 1)
        #expect(lane.takeStates() == ["2", "2", "2"])
    }

    @Test(arguments: [true, false])
    func `the jobs of a send to one recipient are marked`(isForOne: Bool) throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .update(activity: "a1"))
        var update = makeExpansion(.update, to: .activities(["a1"]), version: 2)
        update.isForOneRecipient = isForOne
        try lane.expand(update)
        #expect(lane.takeJobs().map(\.isUrgent) == [isForOne])
    }

    @Test func `named users without a token are counted, and other users are not`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", user: "ann", .start(type: "Match"))
        try lane.reportToken(of: "p2", user: "bob", .start(type: "Match")) { $0.environment = .sandbox }
        try lane.reportToken(of: "p3", user: "cid", .update(activity: "a"))
        let named = ["ann", "bob", "cid", "dan"].map {
            Expansion.ScopedRecipient(.user($0), scope: .group, generation: dawn + 1, version: dawn + 1)
        }
        try lane.expand(makeExpansion(.start, to: .recipients(named), generation: 1, version: 1), rowsMax: 1)
        #expect(lane.takeJobs().map(\.recipient) == ["u:ann"])
        #expect(lane.tally.targeted == 2)
        #expect(lane.tally.excludedByReason == ["other_environment": 1, "without_token": 2])
        try lane.expand(
            makeExpansion(.update, to: .recipients(named), generation: 1, version: 2, send: "u"), rowsMax: 1)
        #expect(lane.takeJobs().map(\.recipient) == ["u:cid"])
        #expect(lane.tally.excludedByReason == ["without_token": 3])
    }

    @Test func `a send to an activity reaches all activities of its recipient in the group and is kept`()
        throws
    {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "a1"))
        try lane.reportToken(of: "p2", user: "ann", .update(activity: "a2"))
        try lane.reportToken(of: "p3", user: "bob", .update(activity: "b"))
        try lane.expand(makeExpansion(.update, to: .activities(["a1", "nobody's"]), version: 2, state: 7))
        #expect(Set(lane.takeJobs().map(\.entry)) == ["update:a1", "update:a2"])
        try lane.reportToken(of: "p4", user: "ann", .update(activity: "a4"))
        #expect(lane.takeStates() == ["7"])
    }

    @Test(arguments: [PushEvent.update, .end])
    func `a send to an activity of another lane closes at once`(event: PushEvent) throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "a1"))
        try lane.expand(makeExpansion(event, to: .activities(["elsewhere"]), version: 2))
        #expect(lane.takeJobs().isEmpty && lane.progress.count == 1 && lane.tally == LaneTally())
    }

    @Test(arguments: [nil, "match"] as [String?])
    func `a send to an activity without a group also reaches a token that comes later`(group: String?) throws
    {
        let lane = try OneLane()
        try lane.expand(
            makeExpansion(
                .update, to: .activities(["a1"]), key: ScopeKey(app: "shop", activity: "a1"), version: 2,
                state: 7))
        #expect(lane.takeJobs().isEmpty)
        try lane.reportToken(of: "p1", .update(activity: "a1")) { $0.group = group }
        #expect(lane.takeStates() == ["7"])
    }

    @Test func `a late token gets the newest state, or the END`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p0", .update(activity: "z"))
        try lane.expand(makeExpansion(.update, version: 2, state: 4))
        #expect(lane.takeJobs().map(\.installation) == ["p0"])
        try lane.reportToken(of: "p1", .update(activity: "a"))
        #expect(lane.takeStates() == ["4"])
        try lane.expand(makeExpansion(.end, version: 3))
        #expect(lane.takeJobs().map(\.head.event) == [.end, .end])
        try lane.reportToken(of: "p2", .update(activity: "b"))
        #expect(lane.takeJobs().map(\.head.event) == [.end])
        lane.now += 3_700_000
        try lane.reportToken(of: "p3", .update(activity: "c"))
        #expect(lane.takeJobs().isEmpty, "the deadline of the END has passed")
    }

    @Test func `a token that an open walk will still reach gets one job only`() throws {
        let lane = try OneLane()
        for number in 0..<6 { try lane.reportToken(of: "p\(number)", .update(activity: "a\(number)")) }
        try lane.expand(makeExpansion(.update, version: 2), rowsMax: 3, toTheEnd: false)
        for number in 6..<40 { try lane.reportToken(of: "p\(number)", .update(activity: "a\(number)")) }
        try lane.expandRemainingPages(rowsMax: 3)
        let jobs = lane.takeJobs()
        #expect(jobs.count == 40 && Set(jobs.map(\.token)).count == 40)
    }

    @Test func `a token that comes behind an open walk gets the state that the walk has sent to the others`()
        throws
    {
        let lane = try OneLane()
        for number in 0..<6 { try lane.reportToken(of: "p\(number)", .update(activity: "a\(number)")) }
        try lane.expand(makeExpansion(.update, version: 2), rowsMax: 3, toTheEnd: false)
        #expect(lane.takeJobs().count == 3)
        for number in 0..<6 { try lane.reportToken(of: "p\(number)", .update(activity: "a\(number)")) }
        #expect(lane.takeJobs().count == 3, "only tokens behind the walk")
        try lane.expandRemainingPages()
        #expect(lane.takeJobs().count == 3)
    }

    /// Walks run at a quarter of the rate of updates: each update visits a quarter of the phones before the
    /// next one.
    @Test func `no phone waits longer than three passes if updates come faster than their walks`() {
        let phones = 2048
        let passes = 4
        var served = Array(repeating: 0, count: phones)
        var longest = 0
        for update in 1...4000 {
            let bytes = PageCursor(ofUpdateNumber: update).walkBytes
            // The parts of the cursor: layout, version, wrapped, activity, length of the origin, origin.
            let origin = bytes[4] == 0 ? 0 : Int(bytes[5]) << 8 | Int(bytes[6])
            let first = origin * phones / 65_536
            for offset in 0..<phones / passes {
                let phone = (first + offset) % phones
                if update > 100 { longest = max(longest, update - served[phone]) }
                served[phone] = update
            }
        }
        #expect(longest <= 3 * passes)
    }
}
