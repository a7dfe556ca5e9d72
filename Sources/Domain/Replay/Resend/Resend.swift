internal import Identifiers
internal import JSON
internal import Jobs
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Sends
internal import Telemetry
internal import Topics

/// A call that pushes the failed jobs of one send again, as jobs of a new send. It takes jobs that were
/// rejected for a reason other than their token and, on request, starts with an unknown outcome. Body and
/// version stay the same, so phones and senders can still detect newer content.
package final class Resend {
    static let batchSheetsMax = 200
    static let batchBytesMax = 16 << 20
    /// The clock difference that the search for the send's receipts tolerates.
    private static let clockDifferenceMilliseconds: Int64 = 60_000

    package struct Tally: Sendable, Hashable {
        /// The jobs that are sent, or would be sent.
        package var jobs = 0
        package var sheets = 0
        /// The starts with an unknown outcome that were not requested.
        package var unknown = 0
        /// The jobs whose token is dead.
        package var deadTokens = 0
        /// The jobs that this command or a redrive has already sent again.
        package var sentBefore = 0
        /// The jobs whose sheet has expired in its topic.
        package var lost = 0
        package var skipped: [ReplaySkipReason: Int] = [:]

        package init() {}
    }

    private let deadLetters: DeadLetterTopic
    private let sendID: String
    private let app: String
    private let withUnknownStarts: Bool
    private let author: String
    private let run: String
    private let busyMilliseconds: Int64
    private var tally = Tally()
    private var previousReplays: PreviousReplays

    /// - Parameters:
    ///   - send: The id that the send was accepted with.
    ///   - author: The caller, for the marks and the audit.
    ///   - run: The unique name of this call.
    ///   - busyMilliseconds: The time in which the jobs of another call are left alone.
    package init(
        deadLetters box: DeadLetterTopic, send: String, of app: String, withUnknownStarts: Bool,
        author: String, run: String,
        busyMilliseconds: Int64 = Redrive.busyMilliseconds
    ) {
        (self.deadLetters, self.sendID, self.app) = (box, send, app)
        self.withUnknownStarts = withUnknownStarts
        self.author = author
        self.run = run
        self.busyMilliseconds = busyMilliseconds
        previousReplays = PreviousReplays(deadLetters: box)
    }

    /// The id of the new send. It begins with the original id.
    package var newSendID: String { "\(sendID.prefix(NameRules.bytesMax - 1 - run.utf8.count)).\(run)" }

    package func preview() throws -> Tally { try processLanes(by: nil) { _, _ in } }

    /// Sends the failed jobs.
    ///
    /// - Parameter progress: Called after each lane with the number of finished lanes and the counts.
    package func execute(progress: (Int, Tally) -> Void) throws -> Tally {
        try processLanes(
            by: ReplayWriter(deadLetters: deadLetters, author: author, run: run), progress: progress)
    }

    private func processLanes(by writer: ReplayWriter?, progress: (Int, Tally) -> Void) throws -> Tally {
        tally = Tally()
        guard let acceptedAt = try acceptedAt() else {
            throw ReplayFailure(
                exitStatus: .noInput,
                description:
                    "there is no such send of \(app) in the last seven days; check the id and the app")
        }
        try writer?.writeAudit(
            "send.resend", app: app, subject: String("\(sendID), run \(run)".prefix(NameRules.bytesMax)))
        for lane in deadLetters.partitions {
            try processLane(lane, since: acceptedAt - Self.clockDifferenceMilliseconds, by: writer)
            progress(Int(lane) + 1, tally)
        }
        return tally
    }

    /// Returns the time at which the send was accepted, or nil if the app has no such send.
    private func acceptedAt() throws -> Int64? {
        let key = RecordKey.join(sendID)
        let partition = Murmur2.partition(forKey: key.span, partitionCount: deadLetters.layout.lanes)
        let reader = JSONReader()
        var found: Int64?
        try deadLetters.scan(.progress, in: Int32(partition)) { record in
            guard let own = [UInt8](copying: record.key), own == key,
                let value = [UInt8](copying: record.value),
                let progress = try? ProgressRecord.decode(value, with: reader), progress.key.app == app
            else { return }
            found = progress.acceptedAt
        }
        return found
    }

    // MARK: One lane

    private func processLane(_ lane: Int32, since time: Int64, by writer: ReplayWriter?) throws {
        var failed = FailedJobs(of: sendID, app: app)
        try deadLetters.scan(.receipts, in: lane, from: .time(time)) { failed.apply($0) }
        tally.deadTokens += failed.deadTokens
        let places = failed.positions
        guard !places.isEmpty else { return }
        var journal = DeadLetterJournal(keepsJobs: true)
        try deadLetters.scan(.deadLetters, in: lane, from: .time(time)) { journal.apply($0) }
        var batch: [ResentSheet] = []
        var bytes = 0
        try forEachSheet(at: places, failed: failed, journal: journal) { [self] sheet in
            batch.append(sheet)
            bytes += sheet.bytes
            guard batch.count >= Self.batchSheetsMax || bytes >= Self.batchBytesMax else { return }
            try send(batch, journal: &journal, in: lane, by: writer)
            (batch, bytes) = ([], 0)
        }
        try send(batch, journal: &journal, in: lane, by: writer)
    }

    /// Passes the sheets with jobs that may be sent to `body`, read from their places.
    private func forEachSheet(
        at places: [JobPosition], failed: FailedJobs, journal: DeadLetterJournal,
        body: (ResentSheet) throws -> Void
    ) throws {
        var first = 0
        while first < places.count {
            let run = places[first...].prefix {
                $0.topic == places[first].topic && $0.partition == places[first].partition
            }
            first = run.endIndex
            guard let topic = TopicName(rawValue: run[run.startIndex].topic) else {
                for place in run { countLost(at: place, failed: failed) }
                continue
            }
            var wanted = run
            try deadLetters.scan(
                topic, in: run[run.startIndex].partition, from: .offset(run[run.startIndex].offset)
            ) {
                record in
                while let place = wanted.first, place.offset < record.offset {
                    countLost(at: place, failed: failed)
                    wanted = wanted.dropFirst()
                }
                guard let place = wanted.first else { throw TopicScanner.StopScan() }
                guard place.offset == record.offset else { return }
                wanted = wanted.dropFirst()
                let sheet = try ResentSheet(record, at: place) {
                    try shouldSend($0, at: place, failed: failed, journal: journal)
                }
                if let sheet { try body(sheet) }
            }
            for place in wanted { countLost(at: place, failed: failed) }
        }
    }

    private func countLost(at place: JobPosition, failed: FailedJobs) {
        for line in 0..<SheetHead.jobsMax where failed.hasFailed(line, at: place) { tally.lost += 1 }
    }

    private func shouldSend(
        _ line: Int, at place: JobPosition, failed: FailedJobs, journal: DeadLetterJournal
    ) throws -> Bool {
        if failed.isUnknown(line, at: place), !withUnknownStarts {
            tally.unknown += 1
            return false
        }
        guard failed.hasFailed(line, at: place) || failed.isUnknown(line, at: place) else { return false }
        guard journal.wasSentAgain(line, at: place) else { return true }
        if let begun = journal.begunResend(at: place), begun.run != run {
            guard WallTime.now().milliseconds - begun.at > busyMilliseconds else {
                tally.skipped[.busy, default: 0] += 1
                return false
            }
            let isDone = try previousReplays.contains(
                ResentSheet.name(of: place), in: .jobsLater5s, partition: place.partition, since: begun.at)
            if !isDone { return true }
        }
        tally.sentBefore += 1
        return false
    }

    private func send(
        _ sheets: [ResentSheet], journal: inout DeadLetterJournal, in lane: Int32, by writer: ReplayWriter?
    ) throws {
        guard !sheets.isEmpty else { return }
        var scopes = ScopeVersionCheck()
        for sheet in sheets {
            var jobs: [Addressee] = []
            sheet.wantedLines.forEachLine { jobs.append(sheet.addressee(at: $0)) }
            scopes.requestRows(for: sheet.head, jobs: jobs)
        }
        try scopes.read(from: deadLetters, lane: lane)
        let now = WallTime.now().milliseconds
        var going: [(sheet: ResentSheet, lines: LineSet)] = []
        for sheet in sheets {
            var lines = LineSet()
            sheet.wantedLines.forEachLine { line in
                if let objection = scopes.skipReason(
                    for: sheet.head, job: sheet.addressee(at: line), now: now)
                {
                    tally.skipped[objection, default: 0] += 1
                } else {
                    lines.append(line)
                }
            }
            if !lines.isEmpty { going.append((sheet, lines)) }
        }
        if let writer { going = try claim(going, journal: &journal, in: lane, by: writer) }
        try writer?.send(going.map { $0.sheet.outgoingRecord(lines: $0.lines, as: newSendID, in: lane) })
        if !going.isEmpty {
            try writer?.writeMark(.resend, phase: .done, in: lane, jobs: going.map(Self.jobs))
        }
        tally.sheets += going.count
        tally.jobs += going.reduce(0) { $0 + $1.lines.count }
    }

    /// Marks the sheets and returns those that no other call has begun.
    private func claim(
        _ going: [(sheet: ResentSheet, lines: LineSet)], journal: inout DeadLetterJournal, in lane: Int32,
        by writer: ReplayWriter
    ) throws -> [(sheet: ResentSheet, lines: LineSet)] {
        guard !going.isEmpty else { return [] }
        let dead = Dictionary(grouping: going) { journal.begunResend(at: $0.sheet.position)?.run }
        for case (let run?, let sheets) in dead {
            try writer.writeMark(.resend, phase: .left, in: lane, ofRun: run, jobs: sheets.map(Self.jobs))
        }
        let claim = try writer.writeMark(.resend, phase: .begun, in: lane, jobs: going.map(Self.jobs))
        try deadLetters.scan(.deadLetters, in: lane, from: .offset(journal.end)) { record in
            guard record.offset <= claim else { throw TopicScanner.StopScan() }
            journal.apply(record)
        }
        return going.filter { sheet, lines in
            if journal.begunResend(at: sheet.position)?.run == run { return true }
            tally.skipped[.busy, default: 0] += lines.count
            return false
        }
    }

    private static func jobs(of going: (sheet: ResentSheet, lines: LineSet)) -> DeadLetterMark.SheetLines {
        DeadLetterMark.SheetLines(position: going.sheet.position, lines: going.lines)
    }
}
