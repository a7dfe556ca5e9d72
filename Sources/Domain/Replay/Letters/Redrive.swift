internal import Kafka
internal import LiveActivity
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
        package var settled = 0
        /// The dead letters that stay, and single jobs that stay, by reason.
        package var objections: [Objection: Int] = [:]

        package init() {}
    }

    /// A dead letter that may be sent.
    struct Item {
        let name: LetterName
        let record: OutgoingRecord
        let writers: RedrivenRecord.Writers
        let jobs: Int
        let bytes: Int
        let sheet: [LetterMark.Jobs]
        let app: String?
        /// The run of a call that began with this dead letter and was killed before it sent it.
        let leftBy: String?
    }

    let box: LetterBox
    let filter: LetterFilter
    let author: String
    let run: String
    var tally = Tally()
    private var sightings: Sightings

    /// - Parameters:
    ///   - author: The caller, for the marks and the audit.
    ///   - run: The unique name of this call.
    ///   - busyMilliseconds: The time in which the dead letters of another call are left alone.
    package init(
        _ box: LetterBox, _ filter: LetterFilter, author: String, run: String,
        busyMilliseconds: Int64 = Redrive.busyMilliseconds
    ) {
        self.box = box
        self.filter = filter
        self.author = author
        self.run = run
        self.busyMilliseconds = busyMilliseconds
        sightings = Sightings(box)
    }

    /// Counts the dead letters that would be sent, without writing anything.
    package func survey() throws -> Tally {
        tally = Tally()
        for partition in box.partitions where filter.concerns(partition) {
            let journal = try box.journal(of: partition, filter)
            try forEachItem(in: partition, journal) { [self] item in
                tally.letters += 1
                tally.jobs += item.jobs
            } settled: { [self] _ in
                tally.settled += 1
            }
        }
        return tally
    }

    /// Sends the dead letters that may be sent.
    ///
    /// - Parameter progress: Called after each batch. An error that it throws ends the call between two
    ///   marks.
    package func carryOut(_ progress: (Tally) throws -> Void) throws -> Tally {
        tally = Tally()
        let writer = try ReplayWriter(box, author: author, run: run)
        // A redriven record can return as a new dead letter. Without these ends the call could redrive it
        // forever.
        let ends = try box.ends()
        for partition in box.partitions where filter.concerns(partition) {
            var journal = try box.journal(of: partition, filter)
            var batch = RedriveBatch(partition: partition)
            try forEachItem(in: partition, journal, before: ends[Int(partition)]) { [self] item in
                batch.add(item)
                if batch.isFull {
                    try send(&batch, &journal, by: writer)
                    try progress(tally)
                }
            } settled: { [self] name in
                try writer.mark(.redrive, .done, in: partition, letters: [name.offset])
                tally.settled += 1
            }
            try send(&batch, &journal, by: writer)
            try progress(tally)
        }
        return tally
    }

    // MARK: Sending

    private func send(
        _ batch: inout RedriveBatch, _ journal: inout LetterJournal, by writer: ReplayWriter
    ) throws {
        defer { batch.removeAll() }
        guard !batch.items.isEmpty else { return }
        let partition = batch.partition
        for dead in Set(batch.items.compactMap(\.leftBy)) {
            let letters = batch.items.filter { $0.leftBy == dead }.map(\.name.offset)
            try writer.mark(.redrive, .left, in: partition, of: dead, letters: letters)
        }
        let claim = try writer.mark(
            .redrive, .begun, in: partition, letters: batch.items.map(\.name.offset),
            jobs: batch.items.flatMap(\.sheet))
        // If two calls mark the same dead letters, the first mark wins.
        try box.scan(.deadLetters, in: partition, from: .offset(journal.end)) { record in
            guard record.offset <= claim else { throw TopicScanner.Enough() }
            journal.read(record)
        }
        let mine = batch.items.filter {
            journal.begun($0.name.offset)?.run == run && journal.state(of: $0.name.offset) == .doubtful
        }
        let others = batch.items.count - mine.count
        if others > 0 { tally.objections[.busy, default: 0] += others }
        guard !mine.isEmpty else { return }
        for app in Set(mine.compactMap(\.app)).sorted() {
            let count = mine.count { $0.app == app }
            try writer.audit("dead-letters.redrive", app: app, subject: "\(count) letters, run \(run)")
        }
        try writer.sendInTransaction(mine.filter { $0.writers == .transactional }.map(\.record))
        try writer.send(mine.filter { $0.writers == .plain }.map(\.record))
        try writer.mark(.redrive, .done, in: partition, letters: mine.map(\.name.offset))
        tally.letters += mine.count
        tally.jobs += mine.reduce(0) { $0 + $1.jobs }
    }

    // MARK: Checks

    /// Passes the dead letters that may be sent to `body`, in order. It works in rounds, because the ledger's
    /// answers about the dead letters of one round are held in memory.
    private func forEachItem(
        in partition: Int32, _ journal: LetterJournal, before end: Int64 = .max,
        _ body: (Item) throws -> Void, settled: (LetterName) throws -> Void
    ) throws {
        var start = filter.start
        while true {
            var guards = Guards()
            var next: Int64?
            try box.forEach(in: partition, filter, knowing: journal, from: start, before: end) {
                letter, state in
                guard state == .open || state == .doubtful else { return }
                if guards.isFull {
                    next = letter.name.offset
                    throw TopicScanner.Enough()
                }
                ask(&guards, about: letter)
            }
            try guards.scopes.read(box, lane: partition)
            try guards.groups.read(box)
            try box.forEach(in: partition, filter, knowing: journal, from: start, before: end) {
                letter, state in
                if let next, letter.name.offset >= next { throw TopicScanner.Enough() }
                guard state == .open || state == .doubtful else { return }
                switch try judge(letter, knowing: journal, by: guards) {
                case .goes(let item): try body(item)
                case .isGone: try settled(letter.name)
                case .stays: break
                }
            }
            guard let next else { return }
            start = .offset(next)
        }
    }

    /// The newer versions for the dead letters of one round.
    private struct Guards {
        var scopes = ScopeGuard()
        var groups = GroupGuard()
        var isFull: Bool { scopes.isFull || groups.isFull }
    }

    private func ask(_ guards: inout Guards, about letter: Letter) {
        if let sheet = letter.sheet {
            guards.scopes.ask(sheet.head, sheet.addressees)
        } else if let record = try? RedrivenRecord(letter, box.layout), record.topic == .sends,
            let key = letter.key
        {
            guards.groups.ask(key, in: record.partition)
        }
    }

    private enum Verdict {
        case goes(Item)
        /// An earlier call has already sent it.
        case isGone
        /// It stays. The reason is counted.
        case stays
    }

    private func judge(
        _ letter: Letter, knowing journal: LetterJournal, by guards: Guards
    ) throws -> Verdict {
        let target: RedrivenRecord
        do { target = try RedrivenRecord(letter, box.layout) } catch { return object(error.objection) }
        let now = WallTime.now().milliseconds
        if let begun = journal.begun(letter.name.offset), begun.run != run {
            guard now - begun.at > busyMilliseconds else { return object(.busy) }
            if try sightings.has(letter.name.text, in: target.topic, target.partition, since: begun.at) {
                return .isGone
            }
        }
        var lines: LineSet?
        if let sheet = letter.sheet {
            if journal.wereResent(sheet) { return object(.resent) }
            let kept = keep(sheet, by: guards.scopes, now)
            if kept.isEmpty { return .stays }
            lines = kept
        } else if target.topic == .sends, let key = letter.key,
            !guards.groups.isNewest(key, writtenAt: letter.why.writtenAt)
        {
            return object(.newer)
        }
        return .goes(
            Item(
                name: letter.name, record: target.record(lines, at: now), writers: target.writers,
                jobs: lines?.count ?? 1, bytes: letter.bytes,
                sheet: letter.sheet?.jobs(lines ?? LineSet()) ?? [], app: letter.app,
                leftBy: journal.begun(letter.name.offset)?.run))
    }

    /// Returns the lines of a sheet that may be sent. The others are counted by reason.
    private func keep(_ sheet: LetterSheet, by scopes: ScopeGuard, _ now: Int64) -> LineSet {
        var kept = LineSet()
        for (line, job) in sheet.addressees.enumerated() {
            if let objection = scopes.objection(to: sheet.head, job, now: now) {
                count(objection)
            } else {
                kept.append(line)
            }
        }
        return kept
    }

    private func object(_ objection: Objection) -> Verdict {
        count(objection)
        return .stays
    }

    private func count(_ objection: Objection) { tally.objections[objection, default: 0] += 1 }
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

extension LetterSheet {
    /// The addressees of the lines.
    var addressees: [Addressee] {
        index.lines.map { line in
            Addressee(
                installation: text(line.installation), entry: text(line.entry),
                recipient: text(line.recipient))
        }
    }

    /// Returns some of the jobs by the sheet in which they were first written.
    func jobs(_ wanted: LineSet) -> [LetterMark.Jobs] {
        var numbers: [Int] = []
        lines.forEachLine { numbers.append($0) }
        var set = LineSet()
        wanted.forEachLine { set.append(numbers[$0]) }
        return [LetterMark.Jobs(place: place, lines: set)]
    }
}
