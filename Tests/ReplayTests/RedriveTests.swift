import Identifiers
import IngestTesting
import Jobs
import Payloads
import ProcessTesting
import RecordFormat
import Replay
import Sends
import Testing
import Topics

/// Redrive, which gives dead letters back to their stage: each at most once, also after killed calls, and only if it still
/// matters. `ReplayStand` writes the dead letters and the marks of earlier calls.
@Suite(.timeLimit(.minutes(3))) struct RedriveTests {
    let stand: ReplayStand

    init() throws { stand = try ReplayStand() }

    @Test func `a dead letter's id is its partition and offset, in one spelling only`() {
        #expect(DeadLetterID("3/1042") == DeadLetterID(partition: 3, offset: 1042))
        let wrong = [
            "", "3", "3/", "/4", "-1/4", "3/-4", "3/4/5", "03/4", "3/+4", "3/99999999999999999999", "a/b",
        ]
        for text in wrong { #expect(DeadLetterID(text) == nil, "\(text)") }
    }

    @Test func `a dead letter of jobs goes once to a later tier of its lane, with a new position`() throws {
        let id = try stand.writeDeadLetter(of: stand.head(), to: 0..<3, lane: 1)
        #expect(try stand.redrive().preview().letters == 1)
        #expect(try stand.records(of: .jobsLater5s).isEmpty, "a preview writes nothing")

        let tally = try stand.executeRedrive()
        #expect(tally.letters == 1 && tally.jobs == 3)
        let records = try stand.records(of: .jobsLater5s)
        let record = try #require(records.first)
        #expect(records.count == 1 && record.partition == 1 && record.value == ReplayStand.body)
        // The jobs begin again: at the position of the dead letter, with the first attempt.
        let origin = try SheetOrigin(parsing: Array((record.headers["origin"] ?? "").utf8).span)
        #expect(origin.topic == "dead-letters" && origin.partition == 1 && origin.offset == id.offset)
        #expect(origin.lines == LineSet(all: 3) && origin.attempt == 1 && origin.earlierTries == 0)
        #expect(origin.reason == nil && origin.dueAt > stand.now)
        #expect(record.headers["flotilla-redriven"] == id.text)
        #expect(record.headers.keys.allSatisfy { !$0.hasPrefix("flotilla-dead") })
        #expect(try stand.states() == [.redriven])

        #expect(try stand.executeRedrive(run: "r2").letters == 0)
        #expect(try stand.records(of: .jobsLater5s).count == 1)
        let audit = try stand.records(of: .audit).map { String(decoding: $0.value ?? [], as: UTF8.self) }
        #expect(audit.count == 1 && audit[0].contains("dead-letters.redrive") && audit[0].contains("tester"))
    }

    @Test func `a redriven sheet keeps the unproven lines of the jobs that are sent`() throws {
        let head = stand.head()
        let origin = SheetOrigin(
            topic: "jobs", partition: 0, offset: 7, lines: LineSet(all: 3), attempt: 4, earlierTries: 6,
            dueAt: 0)
        var unproven = LineSet()
        unproven.append(0)
        unproven.append(2)
        try stand.writeDeadLetter(
            from: .jobsLater2m, lane: 0, stage: "sender", code: "attempts_exhausted", value: ReplayStand.body,
            headers: stand.sheetHeaders(head, to: 0..<3) + [
                ("origin", origin.headerValue), ("unproven", UnprovenLines.headerValue(of: unproven) ?? []),
            ])
        #expect(try stand.executeRedrive().jobs == 3)
        #expect(try stand.records(of: .jobsLater5s).first?.headers["unproven"] == "0,2")
    }

    @Test func `a dead letter that is written during a call is left to the next call`() throws {
        try stand.writeDeadLetter(of: stand.head(), to: 0..<1)
        var hasComeBack = false
        // The closure is called after each batch of records.
        let tally = try stand.redrive().execute { _ in
            if !hasComeBack { try stand.writeDeadLetter(of: stand.head(), to: 1..<2, lane: 1) }
            hasComeBack = true
        }
        #expect(hasComeBack && tally.letters == 1)
        #expect(try stand.executeRedrive(run: "r2").letters == 1)
    }

    @Test
    func `the next call sends the letters of a killed call only if they were not sent`()
        throws
    {
        let sentID = try stand.writeDeadLetter(of: stand.head(), to: 0..<1)
        let unsentID = try stand.writeDeadLetter(of: stand.head(), to: 1..<2)
        // The killed call `dead` has begun with both letters, and has sent the first one.
        let begun = DeadLetterMark(
            .redrive, phase: .begun, run: "dead", author: "tester", at: stand.now,
            letterOffsets: [sentID.offset, unsentID.offset])
        try stand.writeMark(begun, lane: 0)
        try stand.write(
            ReplayStand.body, to: .jobsLater5s, lane: 0,
            headers: stand.sheetHeaders(stand.head(), to: 0..<1) + [
                ("flotilla-redriven", Array(sentID.text.utf8))
            ])
        #expect(try stand.states() == [.doubtful, .doubtful])
        #expect(
            try stand.redrive(busyMilliseconds: 60_000).preview().skipped == [.busy: 2],
            "the other call may still be running")

        let tally = try stand.executeRedrive()
        #expect(tally.alreadySent == 1 && tally.letters == 1)
        #expect(try stand.states() == [.redriven, .redriven])
        #expect(try stand.records(of: .jobsLater5s).count == 2)
        #expect(try stand.executeRedrive(run: "r2").letters == 0)
    }

    @Test func `two calls at the same time send each dead letter once`() async throws {
        for phone in 0..<1_200 { try stand.writeDeadLetter(of: stand.head(), to: phone..<phone + 1) }
        let stand = stand
        let tallies = try await withThrowingTaskGroup(of: Redrive.Tally.self) { group in
            for run in ["r1", "r2", "r3"] {
                group.addTask {
                    try stand.redrive(run: run, busyMilliseconds: 60_000).execute { _ in }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tallies.reduce(0) { $0 + $1.letters } == 1_200, "\(tallies)")
        let ids = try stand.records(of: .jobsLater5s).compactMap { $0.headers["flotilla-redriven"] }
        #expect(ids.count == 1_200 && Set(ids).count == 1_200)
    }

    @Test func `expired and replaced dead letters stay`() throws {
        // All dead letters have version 5. Below, most groups get a state with version 6.
        try stand.writeDeadLetter(of: stand.head(deadlineIn: -1), to: 0..<1)
        try stand.writeDeadLetter(of: stand.head(.update, version: 5, group: "newer"), to: 0..<1)
        try stand.writeDeadLetter(of: stand.head(.start, version: 5, group: "ended"), to: 0..<1)
        try stand.writeDeadLetter(of: stand.head(.start, version: 5, group: "started"), to: 0..<1)
        // Of these two recipients, one has a newer version in the recipient scope.
        try stand.writeDeadLetter(of: stand.head(.update, version: 5, group: "own"), to: 0..<2)
        try stand.writeDeadLetter(
            of: stand.head(.update, version: 5, group: "cancelled", send: "cancelled-send"), to: 0..<1)
        try stand.writeDeadLetter(of: stand.head(.end, version: 5, group: "newer"), to: 0..<1)

        func writeScope(_ key: [UInt8], _ change: (inout LaneScope) -> Void) throws {
            var row = LaneScope()
            row.writtenAt = stand.now
            change(&row)
            try stand.write(row.encoded(), to: .starts, lane: 0, key: key)
        }
        func state(version: Int64) -> ScopeState {
            ScopeState(
                send: "s9", version: version, content: PushContent(.update), priority: .immediate,
                deadline: stand.now / 1000, expiration: stand.now / 1000, acceptedAt: stand.now)
        }
        try writeScope(RecordKey.join("shop", "newer")) { $0.newestState = state(version: 6) }
        try writeScope(RecordKey.join("shop", "ended")) { $0.endVersion = 6 }
        try writeScope(RecordKey.join("shop", "own", "u:u1")) { $0.newestState = state(version: 6) }
        try writeScope(RecordKey.join("shop", "own")) { $0.newestState = state(version: 5) }
        try writeScope(RecordKey.join("shop", "cancelled")) { $0.cancelledSends = ["cancelled-send"] }
        let ledgerKey = LedgerKey(
            app: "shop", subject: .group("started"), recipient: .user("u0"), generation: 3, installation: "i0"
        )
        try stand.write(
            LedgerRow(version: 6, startedAt: stand.now, type: "Match").encoded(), to: .starts, lane: 0,
            key: ledgerKey.bytes)

        let tally = try stand.executeRedrive()
        #expect(
            tally.skipped == [.expired: 1, .newer: 2, .ended: 1, .startedSince: 1, .cancelled: 1], "\(tally)"
        )
        // The END still matters, and so does the job of the other recipient of the group `own`.
        #expect(tally.letters == 2 && tally.jobs == 2)
        let recipients = try stand.records(of: .jobsLater5s).map { $0.headers["to"] ?? "" }
        #expect(recipients.contains { $0.hasSuffix("u:u0\n") && $0.contains("a0") })
        #expect(recipients.allSatisfy { !$0.contains("u:u1") })
    }

    @Test func `a deadline may be any number, and an activity without a group has its own scope`() throws {
        var head = stand.head()
        (head.group, head.deadline) = (nil, .max)
        try stand.writeDeadLetter(of: head, to: 0..<2)
        var row = LaneScope()
        row.writtenAt = stand.now
        row.endVersion = 9
        try stand.write(row.encoded(), to: .starts, lane: 0, key: ScopeKey(app: "shop", activity: "a1").bytes)
        let tally = try stand.executeRedrive()
        #expect(tally.jobs == 1 && tally.skipped == [.ended: 1], "\(tally)")
    }

    @Test
    func
        `dead letters of reports and expansions go back to their topics, and others are skipped with a reason`()
        throws
    {
        let report = Array(#"{"v":1,"app":"shop"}"#.utf8)
        let key = RecordKey.join("shop", "i:phone-1")
        try stand.writeDeadLetter(
            from: .reports, lane: 1, stage: "ingest", code: "unknown_app", key: key, value: report,
            writtenAt: 1_000
        )
        try stand.writeDeadLetter(
            from: .expansions, lane: 1, stage: "fan-out", code: "unknown_version", value: report)
        try stand.writeDeadLetter(
            from: .registry, lane: 0, stage: "ingest", code: "unknown_version", value: report)
        try stand.writeDeadLetter(from: .reports, lane: 0, stage: "ingest", code: "too_large", value: nil)
        try stand.writeDeadLetter(
            from: .jobs, lane: 0, stage: "sender", code: "sheet_malformed", value: report,
            headers: [("apns", [])])

        let tally = try stand.executeRedrive()
        #expect(tally.letters == 2, "\(tally)")
        #expect(tally.skipped == [.unknownTopic: 1, .notKept: 1, .unreadable: 1])
        let reports = try stand.records(of: .reports)
        #expect(reports.count == 1 && reports[0].key == key && reports[0].value == report)
        // The report counts from its first arrival.
        #expect(reports[0].headers["flotilla-received-at"] == "1000")
        let expansions = try stand.records(of: .expansions)
        #expect(expansions.count == 1 && expansions[0].partition == 1 && expansions[0].value == report)
    }

    @Test func `a send is redriven only if its group has no newer send`() throws {
        for (group, lastAt) in [("quiet", stand.now - 9_000), ("busy", stand.now)] {
            let key = ScopeKey(app: "shop", group: group).bytes
            let lane = Int32(stand.partition(of: key))
            try stand.writeDeadLetter(
                from: .sends, lane: lane, stage: "fan-out", code: "unknown_version", key: key,
                value: Array("{}".utf8), writtenAt: stand.now - 5_000)
            var row = GroupRow()
            row.lastSendAt = lastAt
            try stand.write(row.encoded(), to: .groups, lane: lane, key: key)
        }
        let tally = try stand.executeRedrive()
        #expect(tally.letters == 1 && tally.skipped == [.newer: 1], "\(tally)")
        #expect(try stand.records(of: .sends).map(\.key) == [ScopeKey(app: "shop", group: "quiet").bytes])
    }

    @Test func `a call covers the dead letters that match all conditions`() throws {
        let first = try stand.writeDeadLetter(of: stand.head(), to: 0..<1)
        try stand.writeDeadLetter(of: stand.head(app: "bank"), to: 0..<1, lane: 1)
        try stand.writeDeadLetter(of: stand.head(), to: 0..<1, lane: 1, code: "request_faulty")
        func count(_ change: (inout DeadLetterFilter) -> Void) throws -> Int {
            try stand.redrive(stand.filter(change)).preview().letters
        }
        #expect(try count { _ in } == 3)
        #expect(try count { $0.app = "shop" } == 2)
        #expect(try count { $0.app = "none" } == 0)
        #expect(try count { ($0.app, $0.code) = ("shop", "request_faulty") } == 1)
        #expect(try count { $0.stage = "ingest" } == 0)
        #expect(try count { $0.ids = [first] } == 1)
        #expect(try count { $0.since = stand.now } == 3)
        #expect(try count { $0.since = stand.now + 1 } == 0)
        #expect(try count { $0.until = stand.now } == 0)
        try stand.executeRedrive(stand.filter { $0.app = "bank" })
        let sent = try stand.records(of: .jobsLater5s)
        #expect(sent.count == 1 && sent[0].headers["flotilla"]?.contains("app: bank\n") == true)
    }

    @Test func `a discarded dead letter is not sent again and not discarded twice`() throws {
        try stand.writeDeadLetter(of: stand.head(), to: 0..<2)
        try stand.writeDeadLetter(of: stand.head(), to: 2..<3, lane: 1)
        let discard = Discard(
            deadLetters: stand.deadLetters, filter: stand.filter { $0.app = "shop" }, author: "tester",
            run: "d1")
        #expect(try discard.preview().letters == 2)
        #expect(try stand.states() == [.open, .open])
        #expect(try discard.execute { _ in } == 2)
        #expect(try stand.states() == [.discarded, .discarded])
        #expect(try discard.execute { _ in } == 0)
        #expect(try stand.executeRedrive().letters == 0)
    }
}
