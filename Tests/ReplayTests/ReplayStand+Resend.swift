import Identifiers
import IngestTesting
import Jobs
import RecordFormat
import Replay
import Sends
import Topics

/// Writers for the records that `flotilla replay resend` reads.
extension ReplayStand {
    /// Writes a sheet of a send to `jobs`, with the outcomes of its jobs.
    func writeSheet(
        _ head: SheetHead, to phones: Range<Int>, lane: Int32 = 0, outcomes parts: [Receipt.Part]
    ) throws -> JobPosition {
        let offset = try write(
            Self.body, to: .jobs, lane: lane, headers: sheetHeaders(head, to: phones))
        let position = JobPosition(topic: "jobs", partition: lane, offset: offset)
        try writeReceipt(of: head, at: position, parts: parts)
        return position
    }

    /// Writes a receipt to the lane of its sheet.
    func writeReceipt(of head: SheetHead, at position: JobPosition, parts: [Receipt.Part]) throws {
        let receipt = Receipt(head, at: position, attempt: 1, writtenAt: now, parts: parts)
        try write(receipt.encoded(), to: .receipts, lane: position.partition)
    }

    /// Writes that the planner has planned the send.
    func writeAccepted(_ send: String = "s1") throws {
        let progress = ProgressRecord(
            send: send, key: ScopeKey(app: "shop", group: "m1"), isDryRun: false,
            acceptedAt: now - 1_000,
            writtenAt: now, part: .planner(.init(.planned)))
        let key = RecordKey.join(send)
        try write(progress.encoded(), to: .progress, lane: Int32(partition(of: key)), key: key)
    }

    /// Writes a dead letter of the sender whose jobs were first written at this position.
    func writeDeadLetter(of head: SheetHead, to phones: Range<Int>, firstAt position: JobPosition) throws {
        // It names the same sheet as the receipt, so that redrive and resend find the same jobs.
        let origin = SheetOrigin(
            topic: position.topic, partition: position.partition, offset: position.offset,
            lines: LineSet(all: phones.count), attempt: 4, dueAt: 0)
        try writeDeadLetter(
            from: .jobsLater2m, lane: position.partition, stage: "sender", code: "attempts_exhausted",
            value: Self.body, headers: sheetHeaders(head, to: phones) + [("origin", origin.headerValue)])
    }

    /// Writes a mark of a resend of the send `s1` about jobs of one sheet.
    func writeResendMark(
        _ phase: DeadLetterMark.Phase, ofRun run: String, at position: JobPosition, lines: LineSet
    ) throws {
        let jobs = [DeadLetterMark.SheetLines(position: position, lines: lines)]
        try writeMark(
            DeadLetterMark(.resend, phase: phase, run: run, author: "tester", at: now, jobs: jobs),
            lane: position.partition)
    }

    /// Writes the record that a resend of the send `s1` makes from the sheet at a position.
    func writeResentRecord(ofRun run: String, at position: JobPosition, to phones: Range<Int>) throws {
        let name = "\(position.topic)/\(position.partition)/\(position.offset)"
        try write(
            Self.body, to: .jobsLater5s, lane: position.partition,
            headers: sheetHeaders(head(send: "s1.\(run)"), to: phones) + [
                (DeadLetterRecord.redrivenHeader.description, Array(name.utf8))
            ])
    }

    /// Returns the installations of all jobs that were sent again, in any order.
    func resentInstallations() throws -> [String] {
        try records(of: .jobsLater5s).flatMap { record in
            (record.headers["to"] ?? "").split(separator: "\n").map { String($0.split(separator: "\t")[1]) }
        }
    }
}

extension LineSet {
    init(lines: Int...) {
        self.init()
        for line in lines { append(line) }
    }
}
