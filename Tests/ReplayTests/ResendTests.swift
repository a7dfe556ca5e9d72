import Identifiers
import IngestTesting
import Jobs
import Payloads
import RecordFormat
import Replay
import Sends
import Testing
import Topics

/// Resend, which sends the failed jobs of a send again: each at most once, also beside redrive, and only if it still
/// matters. The tests write sheets of jobs with the receipts of their outcomes. Jobs that are sent again
/// are written to `jobs.later.5s`, as those of a send whose name has the run: `s1.r1`.
@Suite(.timeLimit(.minutes(3))) struct ResendTests {
    let stand: ReplayStand

    init() throws { stand = try ReplayStand() }

    /// Resends the failed jobs, and ignores the reports of progress.
    private func resend(run: String = "r1") throws -> Resend.Tally {
        try stand.resend(run: run).execute { _, _ in }
    }

    @Test func `failed jobs are sent again as jobs of another send with the same body and version`() throws {
        try stand.writeAccepted()
        let position = try stand.writeSheet(
            stand.head(), to: 0..<6,
            outcomes: [
                Receipt.Part(.accepted, lines: LineSet(lines: 0, 1)),
                // A dead token, which is never pushed again.
                Receipt.Part(.rejected, lines: LineSet(lines: 2), status: 410, reason: "Unregistered"),
                // The two failed jobs.
                Receipt.Part(
                    .rejected, lines: LineSet(lines: 3, 5), status: 500, reason: "InternalServerError"),
                Receipt.Part(.superseded, lines: LineSet(lines: 4)),
            ])
        // A late receipt of a killed process, for a job that already has its outcome.
        try stand.writeReceipt(
            of: stand.head(), at: position,
            parts: [Receipt.Part(.rejected, lines: LineSet(lines: 0), status: 500)])
        // A receipt of another send, which resend ignores.
        try stand.writeReceipt(
            of: stand.head(send: "s2"), at: position,
            parts: [Receipt.Part(.rejected, lines: LineSet(lines: 1), status: 500)])

        let preview = try stand.resend().preview()
        #expect(preview.jobs == 2 && preview.deadTokens == 1 && preview.sheets == 1, "\(preview)")
        #expect(try stand.records(of: .jobsLater5s).isEmpty, "a preview writes nothing")

        #expect(try resend().jobs == 2)
        let records = try stand.records(of: .jobsLater5s)
        let record = try #require(records.first)
        #expect(records.count == 1 && record.partition == 0 && record.value == ReplayStand.body)
        let head = try SheetHead(
            apns: Array((record.headers["apns"] ?? "").utf8).span,
            flotilla: Array((record.headers["flotilla"] ?? "").utf8).span)
        #expect(head.send == "s1.r1" && head.version == 5 && head.deadline == stand.head().deadline)
        let jobLines = (record.headers["to"] ?? "").split(separator: "\n")
        let installations = jobLines.map { $0.split(separator: "\t")[1] }
        #expect(installations == ["i3", "i5"])

        let secondCall = try resend(run: "r2")
        #expect(secondCall.jobs == 0 && secondCall.sentBefore == 2, "\(secondCall)")
        #expect(try stand.records(of: .jobsLater5s).count == 1)
    }

    @Test func `a start with an unknown outcome is sent again only on request`() throws {
        try stand.writeAccepted()
        _ = try stand.writeSheet(
            stand.head(.start), to: 0..<2,
            outcomes: [
                Receipt.Part(.unknown, lines: LineSet(lines: 0)),
                Receipt.Part(.rejected, lines: LineSet(lines: 1), status: 500),
            ])
        let preview = try stand.resend().preview()
        #expect(preview.jobs == 1 && preview.unknown == 1)
        #expect(try stand.resend(withUnknownStarts: true).preview().jobs == 2)
    }

    @Test func `starts with an unknown outcome are counted also if their sheet has expired`() throws {
        try stand.writeAccepted()
        let head = stand.head(.start)
        // The topic has no record at this offset, as after the deletion of an expired sheet.
        try stand.writeReceipt(
            of: head, at: JobPosition(topic: "jobs", partition: 0, offset: 900),
            parts: [
                Receipt.Part(.unknown, lines: LineSet(lines: 0, 2)),
                Receipt.Part(.rejected, lines: LineSet(lines: 1), status: 500),
            ])
        let preview = try stand.resend().preview()
        #expect(preview.jobs == 0 && preview.lost == 1 && preview.unknown == 2, "\(preview)")
        let previewWithStarts = try stand.resend(withUnknownStarts: true).preview()
        #expect(
            previewWithStarts.jobs == 0 && previewWithStarts.lost == 3 && previewWithStarts.unknown == 0,
            "\(previewWithStarts)")
    }

    @Test func `resend sends the jobs of a redrive that was killed and given up`() throws {
        try stand.writeAccepted()
        let position = try stand.writeSheet(
            stand.head(), to: 0..<1, outcomes: [Receipt.Part(.rejected, lines: LineSet(all: 1), status: 500)])
        let letter = try stand.writeDeadLetter(of: stand.head(), to: 0..<1)
        let jobs = [DeadLetterMark.SheetLines(position: position, lines: LineSet(all: 1))]
        func writeMark(_ phase: DeadLetterMark.Phase, of run: String) throws {
            try stand.writeMark(
                DeadLetterMark(
                    .redrive, phase: phase, run: run, author: "tester", at: stand.now,
                    letterOffsets: [letter.offset], jobs: jobs), lane: 0)
        }
        try writeMark(.begun, of: "dead")
        #expect(try stand.resend().preview().sentBefore == 1)
        // The next redrive gives up the killed one (`left`), and is killed too before it begins.
        try writeMark(.left, of: "dead")
        #expect(try stand.resend().preview().jobs == 1)
        // Another call gives up the first one once more. That does not concern the next one.
        try writeMark(.begun, of: "next")
        try writeMark(.left, of: "dead")
        #expect(try stand.resend().preview().sentBefore == 1)
    }

    @Test func `a job is sent again by redrive or by resend, never by both`() throws {
        try stand.writeAccepted()
        let parts = [
            Receipt.Part(.rejected, lines: LineSet(all: 1), status: 500, reason: "InternalServerError")
        ]
        var positions: [JobPosition] = []
        for phone in 0..<2 {
            positions.append(try stand.writeSheet(stand.head(.start), to: phone..<phone + 1, outcomes: parts))
        }
        for (phone, position) in positions.enumerated() {
            try stand.writeDeadLetter(of: stand.head(.start), to: phone..<phone + 1, firstAt: position)
        }
        // Redrive sends the first job, and resend the second one.
        let firstLetter = stand.filter { $0.ids = [DeadLetterID(partition: 0, offset: 0)] }
        #expect(try stand.executeRedrive(firstLetter).letters == 1)
        let resent = try resend(run: "r2")
        #expect(resent.jobs == 1 && resent.sentBefore == 1, "\(resent)")
        let remaining = try stand.executeRedrive(run: "r3")
        #expect(remaining.letters == 0 && remaining.skipped == [.resent: 1], "\(remaining)")
        #expect(try stand.records(of: .jobsLater5s).count == 2)
        #expect(try stand.states() == [.redriven, .redriven], "a resent dead letter is not listed as open")
    }

    @Test func `expired and replaced jobs are not pushed again`() throws {
        try stand.writeAccepted()
        let parts = [Receipt.Part(.rejected, lines: LineSet(all: 1), status: 500)]
        _ = try stand.writeSheet(stand.head(deadlineIn: 1), to: 0..<1, outcomes: parts)
        _ = try stand.writeSheet(
            stand.head(version: 5, group: "replaced"), to: 1..<2, lane: 1, outcomes: parts)
        var row = LaneScope()
        row.newestState = ScopeState(
            send: "s9", version: 6, content: PushContent(.update), priority: .immediate,
            deadline: stand.now / 1000, expiration: stand.now / 1000, acceptedAt: stand.now)
        try stand.write(row.encoded(), to: .starts, lane: 1, key: RecordKey.join("shop", "replaced"))
        let tally = try resend()
        #expect(tally.jobs == 0 && tally.skipped == [.expired: 1, .newer: 1], "\(tally)")
    }

    @Test func `an unknown send, and a send of another app, are not found`() throws {
        try stand.writeAccepted()
        #expect(throws: ReplayFailure.self) { try stand.resend(app: "bank").preview() }
        #expect(throws: ReplayFailure.self) { try stand.resend("s2").preview() }
    }
}
