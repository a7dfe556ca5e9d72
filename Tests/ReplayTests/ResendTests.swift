import Identifiers
import IngestTesting
import Jobs
import Payloads
import RecordFormat
import Replay
import Sends
import Testing
import Topics

/// Resend, which sends the failed jobs of a send again: each at most once, also after killed calls and beside redrive, and
/// only if it still matters. The tests write sheets of jobs with the receipts of their outcomes. Jobs that are sent again
/// are written to `jobs.later.5s`, as those of a send whose name has the run: `s1.r1`.
@Suite(.timeLimit(.minutes(3))) struct ResendTests {
    let stand: ReplayStand

    init() throws { stand = try ReplayStand() }

    /// Writes a sheet of a send to `jobs`, with the outcomes of its jobs.
    private func writeSheet(
        _ head: SheetHead, to phones: Range<Int>, lane: Int32 = 0, outcomes parts: [Receipt.Part]
    ) throws -> JobPosition {
        let offset = try stand.write(
            ReplayStand.body, to: .jobs, lane: lane, headers: stand.sheetHeaders(head, to: phones))
        let position = JobPosition(topic: "jobs", partition: lane, offset: offset)
        try writeReceipt(of: head, at: position, parts: parts)
        return position
    }

    /// Writes a receipt to the lane of its sheet.
    private func writeReceipt(of head: SheetHead, at position: JobPosition, parts: [Receipt.Part]) throws {
        let receipt = Receipt(head, at: position, attempt: 1, writtenAt: stand.now, parts: parts)
        try stand.write(receipt.encoded(), to: .receipts, lane: position.partition)
    }

    /// Writes that the planner has planned the send.
    private func writeAccepted(_ send: String = "s1") throws {
        let progress = ProgressRecord(
            send: send, key: ScopeKey(app: "shop", group: "m1"), isDryRun: false,
            acceptedAt: stand.now - 1_000,
            writtenAt: stand.now, part: .planner(.init(.planned)))
        let key = RecordKey.join(send)
        try stand.write(progress.encoded(), to: .progress, lane: Int32(stand.partition(of: key)), key: key)
    }

    /// Resends the failed jobs, and ignores the reports of progress.
    private func resend(run: String = "r1") throws -> Resend.Tally {
        try stand.resend(run: run).execute { _, _ in }
    }

    private func lines(_ numbers: Int...) -> LineSet {
        var set = LineSet()
        for number in numbers { set.append(number) }
        return set
    }

    @Test func `failed jobs are sent again as jobs of another send with the same body and version`() throws {
        try writeAccepted()
        let position = try writeSheet(
            stand.head(), to: 0..<6,
            outcomes: [
                Receipt.Part(.accepted, lines: lines(0, 1)),
                // A dead token, which is never pushed again.
                Receipt.Part(.rejected, lines: lines(2), status: 410, reason: "Unregistered"),
                // The two failed jobs.
                Receipt.Part(.rejected, lines: lines(3, 5), status: 500, reason: "InternalServerError"),
                Receipt.Part(.superseded, lines: lines(4)),
            ])
        // A late receipt of a killed process, for a job that already has its outcome.
        try writeReceipt(
            of: stand.head(), at: position, parts: [Receipt.Part(.rejected, lines: lines(0), status: 500)])
        // A receipt of another send, which resend ignores.
        try writeReceipt(
            of: stand.head(send: "s2"), at: position,
            parts: [Receipt.Part(.rejected, lines: lines(1), status: 500)])

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
        try writeAccepted()
        _ = try writeSheet(
            stand.head(.start), to: 0..<2,
            outcomes: [
                Receipt.Part(.unknown, lines: lines(0)),
                Receipt.Part(.rejected, lines: lines(1), status: 500),
            ])
        let preview = try stand.resend().preview()
        #expect(preview.jobs == 1 && preview.unknown == 1)
        #expect(try stand.resend(withUnknownStarts: true).preview().jobs == 2)
    }

    @Test func `starts with an unknown outcome are counted also if their sheet has expired`() throws {
        try writeAccepted()
        let head = stand.head(.start)
        // The topic has no record at this offset, as after the deletion of an expired sheet.
        try writeReceipt(
            of: head, at: JobPosition(topic: "jobs", partition: 0, offset: 900),
            parts: [
                Receipt.Part(.unknown, lines: lines(0, 2)),
                Receipt.Part(.rejected, lines: lines(1), status: 500),
            ])
        let preview = try stand.resend().preview()
        #expect(preview.jobs == 0 && preview.lost == 1 && preview.unknown == 2, "\(preview)")
        let previewWithStarts = try stand.resend(withUnknownStarts: true).preview()
        #expect(
            previewWithStarts.jobs == 0 && previewWithStarts.lost == 3 && previewWithStarts.unknown == 0,
            "\(previewWithStarts)")
    }

    @Test func `resend sends the jobs of a redrive that was killed and given up`() throws {
        try writeAccepted()
        let position = try writeSheet(
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
        try writeAccepted()
        let parts = [
            Receipt.Part(.rejected, lines: LineSet(all: 1), status: 500, reason: "InternalServerError")
        ]
        var positions: [JobPosition] = []
        for phone in 0..<2 {
            positions.append(try writeSheet(stand.head(.start), to: phone..<phone + 1, outcomes: parts))
        }
        for (phone, position) in positions.enumerated() {
            // It names the same sheet as the receipt, so that redrive and resend find the same job.
            let origin = SheetOrigin(
                topic: "jobs", partition: 0, offset: position.offset, lines: LineSet(all: 1), attempt: 4,
                dueAt: 0)
            try stand.writeDeadLetter(
                from: .jobsLater2m, lane: 0, stage: "sender", code: "attempts_exhausted",
                value: ReplayStand.body,
                headers: stand.sheetHeaders(stand.head(.start), to: phone..<phone + 1) + [
                    ("origin", origin.headerValue)
                ])
        }
        // Redrive sends the first job, and resend the second one.
        let firstLetter = stand.filter { $0.ids = [DeadLetterID(partition: 0, offset: 0)] }
        #expect(try stand.redriveAll(firstLetter).letters == 1)
        let resent = try resend(run: "r2")
        #expect(resent.jobs == 1 && resent.sentBefore == 1, "\(resent)")
        let remaining = try stand.redriveAll(run: "r3")
        #expect(remaining.letters == 0 && remaining.skipped == [.resent: 1], "\(remaining)")
        #expect(try stand.records(of: .jobsLater5s).count == 2)
        #expect(try stand.states() == [.redriven, .redriven], "a resent dead letter is not listed as open")
    }

    @Test func `the next call completes a killed call, whatever the killed call had done`() throws {
        try writeAccepted()
        let parts = [Receipt.Part(.rejected, lines: LineSet(all: 1), status: 500)]
        let sentPosition = try writeSheet(stand.head(), to: 0..<1, outcomes: parts)
        let unsentPosition = try writeSheet(stand.head(), to: 1..<2, outcomes: parts)
        let begun = DeadLetterMark(
            .resend, phase: .begun, run: "dead", author: "tester", at: stand.now,
            jobs: [sentPosition, unsentPosition].map {
                DeadLetterMark.SheetLines(position: $0, lines: LineSet(all: 1))
            })
        try stand.writeMark(begun, lane: 0)
        // The killed call has sent one of the two jobs.
        try stand.write(
            ReplayStand.body, to: .jobsLater5s, lane: 0,
            headers: stand.sheetHeaders(stand.head(), to: 0..<1) + [
                (DeadLetterRecord.redrivenHeader.description, Array("jobs/0/\(sentPosition.offset)".utf8))
            ])
        #expect(try stand.resend(busyMilliseconds: 60_000).preview().skipped == [.busy: 2])
        let tally = try resend()
        #expect(tally.jobs == 1 && tally.sentBefore == 1, "\(tally)")
        #expect(try resend(run: "r2").sentBefore == 2)
        #expect(try stand.records(of: .jobsLater5s).count == 2)
    }

    @Test func `a killed call does not make the next one repeat the jobs of an earlier call`() throws {
        try writeAccepted()
        let position = try writeSheet(
            stand.head(), to: 0..<2, outcomes: [Receipt.Part(.rejected, lines: lines(0, 1), status: 500)])
        func writeMark(_ phase: DeadLetterMark.Phase, of run: String, line: Int) throws {
            try stand.writeMark(
                DeadLetterMark(
                    .resend, phase: phase, run: run, author: "tester", at: stand.now,
                    jobs: [DeadLetterMark.SheetLines(position: position, lines: lines(line))]), lane: 0)
        }
        try writeMark(.begun, of: "earlier", line: 0)
        try writeMark(.done, of: "earlier", line: 0)
        // The killed call has begun with the other job, and has not sent it.
        try writeMark(.begun, of: "dead", line: 1)
        let tally = try resend()
        #expect(tally.jobs == 1 && tally.sentBefore == 1, "\(tally)")
        let records = try stand.records(of: .jobsLater5s)
        #expect(records.count == 1 && records.first?.headers["to"]?.contains("\ti1\t") == true)
        #expect(try resend(run: "r2").sentBefore == 2)
    }

    @Test func `expired and replaced jobs are not pushed again`() throws {
        try writeAccepted()
        let parts = [Receipt.Part(.rejected, lines: LineSet(all: 1), status: 500)]
        _ = try writeSheet(stand.head(deadlineIn: 1), to: 0..<1, outcomes: parts)
        _ = try writeSheet(stand.head(version: 5, group: "replaced"), to: 1..<2, lane: 1, outcomes: parts)
        var row = LaneScope()
        row.newestState = ScopeState(
            send: "s9", version: 6, content: PushContent(.update), priority: .immediate,
            deadline: stand.now / 1000, expiration: stand.now / 1000, acceptedAt: stand.now)
        try stand.write(row.encoded(), to: .starts, lane: 1, key: RecordKey.join("shop", "replaced"))
        let tally = try resend()
        #expect(tally.jobs == 0 && tally.skipped == [.expired: 1, .newer: 1], "\(tally)")
    }

    @Test func `an unknown send, and a send of another app, are not found`() throws {
        try writeAccepted()
        #expect(throws: ReplayFailure.self) { try stand.resend(app: "bank").preview() }
        #expect(throws: ReplayFailure.self) { try stand.resend("s2").preview() }
    }
}
