import CatalogRecords
import FanOut
import Identifiers
import InstallationRecords
import Jobs
import Payloads
import Registry
import Sends
import Testing

/// Proves the rules of a lane one by one: which jobs an expansion makes, and which rows it leaves. The app is `shop`,
/// and the group is `match` if a test names no other.
struct ExpanderTests {
    @Test func `a sheet has one environment, one body and a limited number of jobs`() throws {
        var catalog = OneApp()
        catalog.app.environments = [.production, .sandbox]
        let lane = try OneLane(jobsPerSheet: 3, catalog: catalog)
        for number in 0..<8 {
            try lane.reportToken(of: "p\(number)", .start(type: "Match")) {
                $0.environment = number < 4 ? .production : .sandbox
            }
        }
        try lane.expand(makeExpansion(.start, generation: 1, version: 1))
        let jobs = lane.takeJobs()
        #expect(jobs.count == 8)
        #expect(jobs.count { $0.head.environment == .sandbox } == 4)
        #expect(lane.sheets == 4, "the four jobs of each environment need two sheets")
        #expect(jobs.allSatisfy { $0.head.topic == "com.example.shop.push-type.liveactivity" })
    }

    @Test func `a sheet names the lines whose tokens APNs has never accepted`() throws {
        let lane = try OneLane()
        for number in 0..<8 {
            try lane.reportToken(of: "p\(number)", .start(type: "Match")) { $0.isUnproven = number % 3 == 0 }
        }
        try lane.expand(makeExpansion(.start, generation: 1, version: 1))
        let unproven = lane.takeJobs().filter(\.isUnproven).map(\.installation)
        #expect(Set(unproven) == ["p0", "p3", "p6"])
    }

    @Test func `a dry run counts by environment and has no other effect`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .start(type: "Match"))
        try lane.reportToken(of: "p2", .start(type: "Match")) { $0.environment = .sandbox }
        var dry = makeExpansion(.start, generation: 1, version: 1)
        dry.isDryRun = true
        try lane.expand(dry)
        #expect(lane.jobs.isEmpty && lane.starts.isEmpty)
        #expect(lane.tally.jobsByEnvironment == ["production": 1] && lane.tally.largestBodyBytes > 50)
        #expect(lane.tally.targeted == 2 && lane.tally.excludedByReason == ["other_environment": 1])
    }

    @Test func `an installation is started once per generation unless the send asks for a restart`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .start(type: "Match"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1, send: "again"))
        #expect(lane.takeJobs().count == 1)
        #expect(lane.tally.excludedByReason == ["started": 1])
        var restart = makeExpansion(.start, generation: 1, version: 1, send: "restart")
        restart.forcesRestart = true
        try lane.expand(restart)
        #expect(lane.takeJobs().count == 1)
    }

    @Test
    func `a dismissed activity is not started again in its generation unless the send asks for a restart`()
        throws
    {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .start(type: "Match"))
        try lane.reportToken(of: "p1", .update(activity: "a")) {
            $0.token = ""
            $0.tokenHash = ""
            $0.dismissedAt = (dawn + 5) * 1000
        }
        try lane.expand(makeExpansion(.start, generation: 1, version: 1))
        #expect(lane.takeJobs().isEmpty && lane.tally.excludedByReason == ["dismissed": 1])
        var restart = makeExpansion(.start, generation: 1, version: 1, send: "restart")
        restart.forcesRestart = true
        try lane.expand(restart)
        #expect(lane.takeJobs().count == 1)
        try lane.expand(makeExpansion(.end, generation: 1, version: 6))
        try lane.expand(makeExpansion(.start, generation: 7, version: 7, send: "next"))
        #expect(lane.takeJobs().filter { $0.head.event == .start }.count == 1, "a new generation")
    }

    @Test func `an installation that came from another recipient is not started twice`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", user: "ann", .start(type: "Match")) { $0.movedAt = (dawn + 2) * 1000 }
        try lane.expand(makeExpansion(.start, generation: 1, version: 1))
        #expect(lane.takeJobs().isEmpty && lane.tally.excludedByReason == ["started": 1])
        try lane.expand(makeExpansion(.end, generation: 1, version: 3))
        var next = makeExpansion(.start, generation: 4, version: 4, send: "next")
        next.acceptedAt = (dawn + 4) * 1000
        try lane.expand(next)
        #expect(lane.takeJobs().count == 1)
    }

    @Test
    func
        `an installation that moves in during the opening second is started only if it came before the opening`()
        throws
    {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", user: "ann", .start(type: "Match")) {
            $0.movedAt = (dawn + 2) * 1000 + 300
        }
        var start = makeExpansion(.start, generation: 2, version: 2)
        start.acceptedAt = (dawn + 2) * 1000 + 600
        start.openedAt = start.acceptedAt
        try lane.expand(start)
        #expect(lane.takeJobs().count == 1)
        // This start opened a moment before the installation moved in, so it was for the previous recipient.
        try lane.reportToken(of: "p2", user: "ann", .start(type: "Match")) {
            $0.movedAt = (dawn + 2) * 1000 + 900
        }
        var joining = makeExpansion(.start, generation: 2, version: 2, send: "joining")
        joining.acceptedAt = (dawn + 5) * 1000
        joining.openedAt = start.openedAt
        try lane.expand(joining)
        #expect(lane.takeJobs().isEmpty && lane.tally.excludedByReason == ["started": 2])
    }

    @Test
    func `a recipient that an END by activity id has removed is started again in a separate generation`()
        throws
    {
        let lane = try OneLane()
        for user in ["ann", "ben"] {
            try lane.reportToken(of: "p-" + user, user: user, .start(type: "Match"))
            try lane.reportToken(of: "p-" + user, user: user, .update(activity: "a-" + user))
        }
        try lane.expand(makeExpansion(.start, generation: 1, version: 1))
        try lane.expand(
            makeExpansion(.end, to: .activities(["a-ann"]), generation: 1, version: 5, send: "end"))
        _ = lane.takeJobs()
        let named = ["ann", "ben"].map {
            Expansion.ScopedRecipient(.user($0), scope: .group, generation: dawn + 1, version: dawn + 1)
        }
        var again = makeExpansion(.start, to: .recipients(named), generation: 1, version: 1, send: "again")
        again.sequence = dawn + 7
        try lane.expand(again)
        let jobs = lane.takeJobs()
        #expect(jobs.map(\.recipient) == ["u:ann"] && jobs.map(\.head.generation) == [dawn + 7])
        #expect(lane.tally.excludedByReason == ["started": 1])
        try lane.expand(makeExpansion(.update, generation: 1, version: 8, state: 8, send: "update"))
        #expect(Set(lane.takeJobs().map(\.recipient)) == ["u:ann", "u:ben"])
        again.send = "third"
        try lane.expand(again)
        #expect(lane.takeJobs().isEmpty, "only once in that generation, too")
        again.sequence = dawn + 9
        again.send = "fourth"
        try lane.expand(again)
        #expect(lane.takeJobs().isEmpty, "a later start by name joins that generation")
        try lane.reportToken(of: "q-ann", user: "ann", .start(type: "Match"))
        try lane.expand(again)
        let joining = lane.takeJobs()
        #expect(joining.map(\.installation) == ["q-ann"] && joining.map(\.head.generation) == [dawn + 7])
        #expect(joining.map { Push($0.body).state } == ["8"])
    }

    @Test func `a late token gets the END by activity id, even if an update came after it`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", user: "ann", .start(type: "Match"))
        try lane.reportToken(of: "p2", user: "ann", .update(activity: "other"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1))
        try lane.expand(
            makeExpansion(.end, to: .activities(["other"]), generation: 1, version: 5, send: "end"))
        let ann = Expansion.ScopedRecipient(
            .user("ann"), scope: .recipient, generation: dawn + 1, version: dawn + 6)
        try lane.expand(
            makeExpansion(.update, to: .recipients([ann]), generation: 1, version: 1, send: "update"))
        #expect(lane.takeJobs().last?.head.event == .end)
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "late"))
        let late = lane.takeJobs()
        #expect(late.map(\.head.event) == [.end])
        #expect(late.allSatisfy { Push($0.body).timestamp >= dawn + 5 })
    }

    @Test func `an installation that was here for a while gets the starts that were accepted in that time`()
        throws
    {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", user: "ann", .start(type: "Match")) {
            $0.arrivedAt = (dawn + 2) * 1000
            $0.movedAt = (dawn + 4) * 1000
            $0.movedTo = .user("ben")
        }
        for second in [1, 3, 5] as [Int64] {
            var start = makeExpansion(.start, generation: second, version: second, send: "s\(second)")
            start.acceptedAt = (dawn + second) * 1000
            try lane.expand(start)
            #expect(lane.takeJobs().count == (second == 3 ? 1 : 0))
        }
    }

    private func makeExpansionForP1(_ event: PushEvent, generation: Int64, version: Int64) -> Expansion {
        makeExpansion(
            event,
            to: .recipients([
                Expansion.ScopedRecipient(
                    .installation("p1"), scope: .recipient, generation: dawn + generation,
                    version: dawn + version)
            ]), generation: generation, version: version, send: "one")
    }

    @Test func `an END of one recipient stops older starts in any order`() throws {
        let lane = try OneLane()
        for number in 0..<2 { try lane.reportToken(of: "p\(number)", .start(type: "Match")) }
        try lane.expand(makeExpansionForP1(.end, generation: 1, version: 5))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1))
        #expect(lane.takeJobs().map(\.installation) == ["p0"])
        #expect(lane.tally.excludedByReason == ["ended": 1])
    }

    @Test func `a start for everyone joins a recipient's separate generation after its END and restart`()
        throws
    {
        let lane = try OneLane()
        try lane.reportToken(of: "p0", .start(type: "Match"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1))
        try lane.expand(makeExpansionForP1(.end, generation: 1, version: 5))
        try lane.expand(makeExpansionForP1(.start, generation: 7, version: 7))
        #expect(lane.takeJobs().map(\.installation) == ["p0"])
        try lane.reportToken(of: "p1", .start(type: "Match"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1, send: "all"))
        #expect(lane.takeJobs().map(\.head.generation) == [dawn + 7])
        #expect(lane.tally.excludedByReason == ["started": 1])
    }

    @Test
    func `an END that an update of the group has overtaken gets a newer timestamp than the phones show`()
        throws
    {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .update(activity: "a"))
        try lane.expand(makeExpansion(.update, generation: 1, version: 9))
        _ = lane.takeJobs()
        try lane.expand(makeExpansionForP1(.end, generation: 1, version: 5))
        let jobs = lane.takeJobs()
        #expect(jobs.map(\.head.version) == [dawn + 5])
        #expect(jobs.map { Push($0.body).timestamp } == [dawn + 10])
    }

    @Test func `an activity without a group joins the newest start and stays in its group`()
        throws
    {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .start(type: "Match"))
        try lane.expand(makeExpansion(.start, generation: 1, version: 1))
        try lane.expand(makeExpansion(.update, generation: 1, version: 2, state: 2))
        _ = lane.takeJobs()
        try lane.reportToken(of: "p1", .update(activity: "a")) { $0.group = nil }
        #expect(lane.takeStates() == ["2"])
        let other = ScopeKey(app: "shop", group: "other")
        try lane.expand(makeExpansion(.start, key: other, generation: 3, version: 3, send: "other"))
        try lane.expand(makeExpansion(.update, generation: 1, version: 4, state: 4))
        try lane.expand(makeExpansion(.update, key: other, generation: 3, version: 5, state: 5))
        let updates = lane.takeJobs().filter { $0.head.event == .update }
        #expect(updates.map { Push($0.body).state } == ["4"])
    }

    @Test func `a start that opens a generation does not drop an update for older activities`() throws {
        let lane = try OneLane()
        for number in 0..<4 { try lane.reportToken(of: "p\(number)", .update(activity: "a\(number)")) }
        try lane.reportToken(of: "s", .start(type: "Match"))
        try lane.expand(makeExpansion(.update, version: 8, state: 8, send: "u8"), rowsMax: 2, toTheEnd: false)
        #expect(lane.takeJobs().count == 2)
        try lane.expand(
            makeExpansion(.start, generation: 11, version: 11, state: 11, send: "start"), toTheEnd: false)
        #expect(lane.takeJobs().map(\.head.event) == [.start])
        try lane.expandRemainingPages(rowsMax: 2)
        let rest = lane.takeJobs()
        #expect(rest.count == 2 && rest.allSatisfy { Push($0.body).state == "8" })
        // Activities of the new start show something newer and ignore this older timestamp.
        #expect(rest.allSatisfy { Push($0.body).timestamp == dawn + 8 })
        #expect(lane.tally.dropped == 0)
    }

    @Test func `a start and the answer with its state to running activities have separate bodies`() throws {
        for startComesFirst in [true, false] {
            let lane = try OneLane()
            for number in 0..<4 { try lane.reportToken(of: "p\(number)", .start(type: "Match")) }
            try lane.reportToken(of: "there", .update(activity: "a"))
            let start = makeExpansion(.start, generation: 1, version: 1, state: 1)
            try lane.expand(start, rowsMax: 2, toTheEnd: false)
            var answer = makeExpansion(.update, generation: 1, version: 1, state: 1)
            answer.targets = .newMembers
            _ = lane.takeJobs()
            try lane.expandAtOnce(startComesFirst ? [answer] : [answer, start], rowsMax: 1000)
            try lane.expandRemainingPages()
            let jobs = lane.takeJobs()
            #expect(jobs.count == 3)
            for job in jobs {
                let isStart = job.entry.hasPrefix("start")
                #expect(job.head.event == (isStart ? .start : .update))
                #expect(Push(job.body).event == job.head.event)
            }
        }
    }

    @Test func `a newest state that does not fit into a start follows as an update`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", .start(type: "Match"))
        try lane.reportToken(of: "p2", .update(activity: "there"))
        var start = makeExpansion(.start, generation: 1, version: 1, state: 1)
        start.content.attributes = raw(#"{"name":"\#(String(repeating: "x", count: 1700))"}"#)
        var update = makeExpansion(.update, generation: 1, version: 2, send: "large")
        update.content.contentState = raw(#"{"text":"\#(String(repeating: "y", count: 2300))"}"#)
        start.content.alert = Alert(title: .plain(String(repeating: "z", count: 300)))
        try lane.expand(update)
        _ = lane.takeJobs()
        try lane.expand(start)
        let jobs = lane.takeJobs()
        #expect(jobs.map { Push($0.body).state } == ["1"] && jobs[0].head.version == dawn + 1)
        try lane.reportToken(of: "p1", .update(activity: "started"))
        #expect(lane.takeJobs().map(\.head.send) == ["large"])
    }

    @Test func `a dismissal in an earlier generation of one user does not prevent a start`() throws {
        let lane = try OneLane()
        for user in ["ann", "bob"] {
            try lane.reportToken(of: "p-" + user, user: user, .start(type: "Match"))
            try lane.reportToken(of: "p-" + user, user: user, .update(activity: "a-" + user)) {
                $0.token = ""
                $0.tokenHash = ""
                $0.dismissedAt = (dawn + 3) * 1000
            }
        }
        let named = [("ann", 7), ("bob", 1)].map { (user: String, generation: Int64) in
            Expansion.ScopedRecipient(
                .user(user), scope: generation == 1 ? .group : .recipient, generation: dawn + generation,
                version: dawn + generation)
        }
        try lane.expand(makeExpansion(.start, to: .recipients(named), generation: 1, version: 1))
        #expect(lane.takeJobs().map(\.recipient) == ["u:ann"])
        #expect(lane.tally.excludedByReason == ["dismissed": 1])
    }

    @Test func `a segment is resolved during expansion, and an unknown segment has no recipients`() throws {
        let lane = try OneLane(
            catalog: OneApp(segments: ["new": .test(.field(.os), .compares(.atLeast, .text("18")))]))
        try lane.reportToken(of: "p1", .start(type: "Match")) { $0.os = "18.1" }
        try lane.reportToken(of: "p2", .start(type: "Match")) { $0.os = "17.4" }
        try lane.expand(makeExpansion(.start, to: .segments(["new"]), generation: 1, version: 1))
        #expect(lane.takeJobs().map(\.installation) == ["p1"])
        try lane.expand(makeExpansion(.start, to: .segments(["lost"]), generation: 2, version: 2, send: "t"))
        #expect(lane.takeJobs().isEmpty && lane.tally == LaneTally())
    }

    @Test func `all conditions of an audience must be true, also in a dry run`() throws {
        let lane = try OneLane(
            catalog: OneApp(segments: ["new": .test(.field(.os), .compares(.atLeast, .text("18")))]))
        for (phone, os, tags) in [
            ("p1", "18.1", ["goals"]), ("p2", "17.4", ["goals"]), ("p3", "18.2", ["cards"]),
            ("p4", "18.0", ["goals", "muted"]), ("p5", "17.3", []),
        ] {
            try lane.reportToken(of: phone, .start(type: "Match")) { $0.os = os }
            try lane.reportProfile(of: phone, tags: tags)
        }
        var sends = 0
        func reached(by combination: AudienceCombination) throws -> [String] {
            sends += 1
            let expansion = makeExpansion(
                .start, to: .combination(combination), generation: Int64(sends), version: Int64(sends),
                send: "s\(sends)")
            var dryRun = expansion
            (dryRun.isDryRun, dryRun.send) = (true, "dry-\(sends)")
            try lane.expand(dryRun)
            let counted = lane.tally.jobsByEnvironment["production"] ?? 0
            #expect(lane.takeJobs().isEmpty)
            try lane.expand(expansion)
            let phones = lane.takeJobs().map(\.installation).sorted()
            #expect(counted == phones.count, "\(combination)")
            return phones
        }
        #expect(try reached(by: .init(segments: ["new"], tags: ["goals"])) == ["p1", "p4"])
        #expect(
            try reached(by: .init(segments: ["new"], tags: ["goals", "cards"], excludedTags: ["muted"]))
                == ["p1", "p3"])
        #expect(try reached(by: .init(excludedSegments: ["new"])) == ["p2", "p5"])
        #expect(try reached(by: .init(excludedTags: ["muted", "cards"])) == ["p1", "p2", "p5"])
        #expect(try reached(by: .init(segments: ["lost"], tags: ["goals"])) == [])
        #expect(
            try reached(by: .init(tags: ["goals"], excludedSegments: ["lost"])) == [],
            "the rule of the excluded segment is not known any more")
    }

    @Test func `a private group reaches only its owner`() throws {
        let lane = try OneLane()
        for user in ["ann", "bob"] {
            try lane.reportToken(of: "p-\(user)", user: user, .start(type: "Match"))
            try lane.reportToken(of: "q-\(user)", user: user, .update(activity: "a-\(user)")) {
                $0.group = "chest"
            }
        }
        let chest = ScopeKey(app: "shop", group: "chest", recipient: .user("ann"))
        func scoped(_ generation: Int64, _ version: Int64) -> Expansion.Targets {
            .recipients([
                Expansion.ScopedRecipient(
                    .user("ann"), scope: .recipient, generation: dawn + generation, version: dawn + version)
            ])
        }
        try lane.expand(makeExpansion(.start, to: scoped(1, 1), key: chest, generation: 1, version: 1))
        try lane.expand(makeExpansion(.update, to: scoped(1, 2), key: chest, generation: 1, version: 2))
        let jobs = lane.takeJobs()
        #expect(jobs.count == 2 && jobs.allSatisfy { $0.recipient == "u:ann" && $0.head.scope == .recipient })
    }

    @Test func `an activity without a group joins a private group`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p", user: "ann", .start(type: "Match"))
        let chest = ScopeKey(app: "shop", group: "chest", recipient: .user("ann"))
        func send(_ event: PushEvent, version: Int64) throws {
            let scoped = Expansion.ScopedRecipient(
                .user("ann"), scope: .recipient, generation: dawn + 1, version: dawn + version)
            try lane.expand(
                makeExpansion(
                    event, to: .recipients([scoped]), key: chest, generation: 1, version: version,
                    state: Int(version), send: "s\(version)"))
        }
        try send(.start, version: 1)
        try lane.reportToken(of: "p", user: "ann", .update(activity: "a")) { $0.group = nil }
        _ = lane.takeJobs()
        try send(.update, version: 2)
        #expect(lane.takeStates() == ["2"])
        try send(.end, version: 3)
        #expect(lane.takeJobs().map(\.head.event) == [.end])
    }

    @Test func `an app that is no longer in the catalog ends its expansions`() throws {
        let lane = try OneLane()
        try lane.expand(
            makeExpansion(.update, key: ScopeKey(app: "gone", group: "match"), version: 1))
        #expect(lane.progress.count == 1 && lane.jobs.isEmpty)
    }
}
