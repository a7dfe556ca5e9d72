internal import Jobs
internal import Kafka
internal import RecordFormat
internal import Telemetry
internal import Topics

/// A call that sends dead letters again. Jobs go to a later tier with new places; other records go back to
/// their topic.
///
/// Each batch is marked before and after it is sent. So a call can be interrupted anywhere, and no dead
/// letter is sent twice. Dead letters that have expired or that a newer version replaces stay.
package final class Redrive {
    /// The dead letters of one mark. `batchBytesMax` limits their bytes.
    static let batchLettersMax = 500
    static let batchBytesMax = 8 << 20
    /// The time after a begin mark in which its call may still be running.
    package static let busyMilliseconds: Int64 = 60_000
    private let busyMilliseconds: Int64

    package struct Tally: Sendable, Hashable {
        /// The dead letters that are sent, or would be sent.
        package var letters = 0
        package var jobs = 0
        /// The dead letters that an earlier call began and had already sent.
        package var alreadySent = 0
        /// The dead letters that stay, and single jobs that stay, by reason.
        package var skipped: [ReplaySkipReason: Int] = [:]

        package init() {}
    }

    /// A dead letter that may be sent.
    struct Item {
        let name: DeadLetterID
        let record: OutgoingRecord
        let writers: RedrivenRecord.Writers
        let jobs: Int
        let bytes: Int
        let sheet: [DeadLetterMark.SheetLines]
        let app: String?
        /// The run of a call that began with this dead letter and was killed before it sent it.
        let abandonedRun: String?
    }

    let deadLetters: DeadLetterTopic
    let filter: DeadLetterFilter
    let author: String
    let run: String
    var tally = Tally()
    private var previousReplays: PreviousReplays

    /// - Parameters:
    ///   - author: The caller, for the marks and the audit.
    ///   - run: The unique name of this call.
    ///   - busyMilliseconds: The time in which the dead letters of another call are left alone.
    package init(
        deadLetters box: DeadLetterTopic, filter: DeadLetterFilter, author: String, run: String,
        busyMilliseconds: Int64 = Redrive.busyMilliseconds
    ) {
        self.deadLetters = box
        self.filter = filter
        self.author = author
        self.run = run
        self.busyMilliseconds = busyMilliseconds
        previousReplays = PreviousReplays(deadLetters: box)
    }

    /// Counts the dead letters that would be sent, without writing anything.
    package func preview() throws -> Tally {
        tally = Tally()
        for partition in deadLetters.partitions where filter.includes(partition: partition) {
            let journal = try deadLetters.journal(of: partition, matching: filter)
            try forEachItem(in: partition, journal: journal) { [self] item in
                tally.letters += 1
                tally.jobs += item.jobs
            } settled: { [self] _ in
                tally.alreadySent += 1
            }
        }
        return tally
    }

    /// Sends the dead letters that may be sent.
    ///
    /// - Parameter progress: Called after each batch. An error that it throws ends the call between two
    ///   marks.
    package func execute(progress: (Tally) throws -> Void) throws -> Tally {
        tally = Tally()
        let writer = try ReplayWriter(deadLetters: deadLetters, author: author, run: run)
        // A redriven record can return as a new dead letter. Without these ends the call could redrive it
        // forever.
        let ends = try deadLetters.endOffsets()
        for partition in deadLetters.partitions where filter.includes(partition: partition) {
            var journal = try deadLetters.journal(of: partition, matching: filter)
            var batch = RedriveBatch(partition: partition)
            try forEachItem(in: partition, journal: journal, before: ends[Int(partition)]) { [self] item in
                batch.add(item)
                if batch.isFull {
                    try send(&batch, journal: &journal, by: writer)
                    try progress(tally)
                }
            } settled: { [self] name in
                try writer.writeMark(.redrive, phase: .done, in: partition, letters: [name.offset])
                tally.alreadySent += 1
            }
            try send(&batch, journal: &journal, by: writer)
            try progress(tally)
        }
        return tally
    }

    // MARK: Sending

    private func send(
        _ batch: inout RedriveBatch, journal: inout DeadLetterJournal, by writer: ReplayWriter
    ) throws {
        defer { batch.removeAll() }
        guard !batch.items.isEmpty else { return }
        let partition = batch.partition
        for dead in Set(batch.items.compactMap(\.abandonedRun)) {
            let letters = batch.items.filter { $0.abandonedRun == dead }.map(\.name.offset)
            try writer.writeMark(.redrive, phase: .left, in: partition, ofRun: dead, letters: letters)
        }
        let claim = try writer.writeMark(
            .redrive, phase: .begun, in: partition, letters: batch.items.map(\.name.offset),
            jobs: batch.items.flatMap(\.sheet))
        // If two calls mark the same dead letters, the first mark wins.
        try deadLetters.scan(.deadLetters, in: partition, from: .offset(journal.end)) { record in
            guard record.offset <= claim else { throw TopicScanner.StopScan() }
            journal.apply(record)
        }
        let mine = batch.items.filter {
            journal.begunAction(on: $0.name.offset)?.run == run
                && journal.state(of: $0.name.offset) == .doubtful
        }
        let others = batch.items.count - mine.count
        if others > 0 { tally.skipped[.busy, default: 0] += others }
        guard !mine.isEmpty else { return }
        for app in Set(mine.compactMap(\.app)).sorted() {
            let count = mine.count { $0.app == app }
            try writer.writeAudit("dead-letters.redrive", app: app, subject: "\(count) letters, run \(run)")
        }
        try writer.sendInTransaction(mine.filter { $0.writers == .transactional }.map(\.record))
        try writer.send(mine.filter { $0.writers == .plain }.map(\.record))
        try writer.writeMark(.redrive, phase: .done, in: partition, letters: mine.map(\.name.offset))
        tally.letters += mine.count
        tally.jobs += mine.reduce(0) { $0 + $1.jobs }
    }

    // MARK: Checks

    /// Passes the dead letters that may be sent to `body`, in order. It works in rounds, because the ledger's
    /// answers about the dead letters of one round are held in memory.
    private func forEachItem(
        in partition: Int32, journal: DeadLetterJournal, before end: Int64 = .max,
        body: (Item) throws -> Void, settled: (DeadLetterID) throws -> Void
    ) throws {
        var start = filter.scanStart
        while true {
            var guards = VersionChecks()
            var next: Int64?
            try deadLetters.forEach(
                in: partition, matching: filter, journal: journal, from: start, before: end
            ) {
                letter, state in
                guard state == .open || state == .doubtful else { return }
                if guards.isFull {
                    next = letter.id.offset
                    throw TopicScanner.StopScan()
                }
                requestVersions(with: &guards, for: letter)
            }
            try guards.scopes.read(from: deadLetters, lane: partition)
            try guards.groups.read(from: deadLetters)
            try deadLetters.forEach(
                in: partition, matching: filter, journal: journal, from: start, before: end
            ) {
                letter, state in
                if let next, letter.id.offset >= next { throw TopicScanner.StopScan() }
                guard state == .open || state == .doubtful else { return }
                switch try decide(letter, journal: journal, checks: guards) {
                case .send(let item): try body(item)
                case .alreadySent: try settled(letter.id)
                case .skip: break
                }
            }
            guard let next else { return }
            start = .offset(next)
        }
    }

    /// The newer versions for the dead letters of one round.
    private struct VersionChecks {
        var scopes = ScopeVersionCheck()
        var groups = GroupVersionCheck()
        var isFull: Bool { scopes.isFull || groups.isFull }
    }

    private func requestVersions(with guards: inout VersionChecks, for letter: DeadLetterRecord) {
        if let sheet = letter.sheet {
            guards.scopes.requestRows(for: sheet.head, jobs: sheet.addressees)
        } else if let record = try? RedrivenRecord(letter, layout: deadLetters.layout),
            record.topic == .sends,
            let key = letter.key
        {
            guards.groups.request(key, in: record.partition)
        }
    }

    private enum RedriveDecision {
        case send(Item)
        /// An earlier call has already sent it.
        case alreadySent
        /// It stays. The reason is counted.
        case skip
    }

    private func decide(
        _ letter: DeadLetterRecord, journal: DeadLetterJournal, checks guards: VersionChecks
    ) throws -> RedriveDecision {
        let target: RedrivenRecord
        do { target = try RedrivenRecord(letter, layout: deadLetters.layout) } catch {
            return skip(because: error.reason)
        }
        let now = WallTime.now().milliseconds
        if let begun = journal.begunAction(on: letter.id.offset), begun.run != run {
            guard now - begun.at > busyMilliseconds else { return skip(because: .busy) }
            if try previousReplays.contains(
                letter.id.text, in: target.topic, partition: target.partition, since: begun.at)
            {
                return .alreadySent
            }
        }
        var lines: LineSet?
        if let sheet = letter.sheet {
            if journal.wasResent(sheet) { return skip(because: .resent) }
            let kept = sendableLines(of: sheet, checks: guards.scopes, now: now)
            if kept.isEmpty { return .skip }
            lines = kept
        } else if target.topic == .sends, let key = letter.key,
            !guards.groups.hasNoNewerSend(key, writtenAt: letter.rejection.writtenAt)
        {
            return skip(because: .newer)
        }
        return .send(
            Item(
                name: letter.id, record: target.outgoingRecord(lines: lines, at: now),
                writers: target.writers,
                jobs: lines?.count ?? 1, bytes: letter.bytes,
                sheet: letter.sheet?.jobs(atLines: lines ?? LineSet()) ?? [], app: letter.app,
                abandonedRun: journal.begunAction(on: letter.id.offset)?.run))
    }

    /// Returns the lines of a sheet that may be sent. The others are counted by reason.
    private func sendableLines(of sheet: DeadLetterSheet, checks scopes: ScopeVersionCheck, now: Int64)
        -> LineSet
    {
        var kept = LineSet()
        for (line, job) in sheet.addressees.enumerated() {
            if let objection = scopes.skipReason(for: sheet.head, job: job, now: now) {
                countSkipped(objection)
            } else {
                kept.append(line)
            }
        }
        return kept
    }

    private func skip(because objection: ReplaySkipReason) -> RedriveDecision {
        countSkipped(objection)
        return .skip
    }

    private func countSkipped(_ objection: ReplaySkipReason) { tally.skipped[objection, default: 0] += 1 }
}

/// Dead letters that are sent together.
struct RedriveBatch {
    let partition: Int32
    private(set) var items: [Redrive.Item] = []
    private var bytes = 0

    init(partition: Int32) { self.partition = partition }

    var isFull: Bool { items.count >= Redrive.batchLettersMax || bytes >= Redrive.batchBytesMax }

    mutating func add(_ item: Redrive.Item) {
        items.append(item)
        bytes += item.bytes
    }

    mutating func removeAll() {
        items.removeAll()
        bytes = 0
    }
}

extension DeadLetterSheet {
    /// The addressees of the lines.
    var addressees: [Addressee] {
        index.lines.map { line in
            Addressee(
                installation: text(in: line.installation), entry: text(in: line.entry),
                recipient: text(in: line.recipient))
        }
    }

    /// Returns some of the jobs by the sheet in which they were first written.
    func jobs(atLines wanted: LineSet) -> [DeadLetterMark.SheetLines] {
        var numbers: [Int] = []
        lines.forEachLine { numbers.append($0) }
        var set = LineSet()
        wanted.forEachLine { set.append(numbers[$0]) }
        return [DeadLetterMark.SheetLines(position: position, lines: set)]
    }
}
