internal import Jobs
internal import Kafka
internal import RecordFormat
internal import Topics

/// A call that sends dead letters again. Sheets of jobs go to the topic of the shorter retry tier, where they
/// have new positions; other records go back to their topic.
///
/// For each batch the call writes a mark (`DeadLetterMark`), the records, and a second mark, in this order. So
/// it can be interrupted anywhere, and no dead letter is sent twice. Dead letters that have expired, or that a
/// newer version replaces, are left in the topic.
package final class Redrive {
    /// The limit of dead letters in one batch.
    static let batchLettersMax = 500
    /// The limit of their bytes. A batch that reaches it takes no further dead letter.
    static let batchBytesMax = 8 << 20
    /// The time after a begin mark in which its call may still be running.
    package static let busyMilliseconds: Int64 = 60_000

    /// The results of a call.
    package struct Tally: Sendable, Hashable {
        /// The dead letters that are sent, or would be sent.
        package var letters = 0
        package var jobs = 0
        /// The dead letters that an earlier call began and had already sent.
        package var alreadySent = 0
        /// The dead letters that are not sent, and the single jobs of sent ones that are not, by reason.
        package var skipped: [ReplaySkipReason: Int] = [:]

        package init() {}
    }

    let deadLetters: DeadLetterTopic
    let filter: DeadLetterFilter
    let author: String
    let run: String
    let busyMilliseconds: Int64
    var tally = Tally()
    var previousReplays: PreviousReplays

    /// - Parameters:
    ///   - author: The caller, for the marks and the audit.
    ///   - run: The unique name of this call.
    ///   - busyMilliseconds: The time in which the dead letters of another call are left alone.
    package init(
        deadLetters: DeadLetterTopic, filter: DeadLetterFilter, author: String, run: String,
        busyMilliseconds: Int64 = Redrive.busyMilliseconds
    ) {
        self.deadLetters = deadLetters
        self.filter = filter
        self.author = author
        self.run = run
        self.busyMilliseconds = busyMilliseconds
        previousReplays = PreviousReplays(deadLetters: deadLetters)
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
            } settled: { [self] id in
                try writer.writeMark(.redrive, phase: .done, in: partition, letters: [id.offset])
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
        let claimed = try claim(batch, journal: &journal, by: writer)
        let busyCount = batch.items.count - claimed.count
        if busyCount > 0 { tally.skipped[.busy, default: 0] += busyCount }
        guard !claimed.isEmpty else { return }
        for app in Set(claimed.compactMap(\.app)).sorted() {
            let count = claimed.count { $0.app == app }
            try writer.writeAudit("dead-letters.redrive", app: app, subject: "\(count) letters, run \(run)")
        }
        try writer.storeInTransaction(claimed.filter { $0.writers == .transactional }.map(\.record))
        try writer.store(claimed.filter { $0.writers == .plain }.map(\.record))
        try writer.writeMark(.redrive, phase: .done, in: batch.partition, letters: claimed.map(\.id.offset))
        tally.letters += claimed.count
        tally.jobs += claimed.reduce(0) { $0 + $1.jobs }
    }

    /// Marks the dead letters of a batch as begun. Returns those that no other call has begun: if two calls
    /// mark the same dead letter or its jobs, the first mark counts.
    private func claim(
        _ batch: RedriveBatch, journal: inout DeadLetterJournal, by writer: ReplayWriter
    ) throws -> [Item] {
        let partition = batch.partition
        for abandonedRun in Set(batch.items.compactMap(\.abandonedRun)) {
            let items = batch.items.filter { $0.abandonedRun == abandonedRun }
            try writer.writeMark(
                .redrive, phase: .left, in: partition, ofRun: abandonedRun, letters: items.map(\.id.offset),
                jobs: items.flatMap(\.sheetLines))
        }
        let markOffset = try writer.writeMark(
            .redrive, phase: .begun, in: partition, letters: batch.items.map(\.id.offset),
            jobs: batch.items.flatMap(\.sheetLines))
        try deadLetters.readMarks(of: partition, through: markOffset, into: &journal)
        let begunItems = batch.items.filter {
            journal.begunAction(on: $0.id.offset)?.run == run
                && journal.state(of: $0.id.offset) == .doubtful
        }
        // If a resend has begun with the jobs of a dead letter, the resend sends them.
        let resentItems = begunItems.filter { $0.sheetLines.contains(where: journal.isTakenByResend) }
        if resentItems.isEmpty { return begunItems }
        try writer.writeMark(
            .redrive, phase: .left, in: partition, letters: resentItems.map(\.id.offset),
            jobs: resentItems.flatMap(\.sheetLines))
        let resentIDs = Set(resentItems.map(\.id))
        return begunItems.filter { !resentIDs.contains($0.id) }
    }
}
