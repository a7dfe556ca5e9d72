internal import JSON
internal import Jobs
package import Kafka
internal import RecordFormat

/// The state of each dead letter of one partition, from the marks (`DeadLetterMark`) that calls have written
/// into the same partition. Memory holds about one bit for each dead letter with a mark.
package struct DeadLetterJournal {
    /// The state of one dead letter.
    package enum DeadLetterState: String, Sendable {
        case open
        case redriven
        case discarded
        /// A redrive or a resend has begun, and no mark shows that it was completed.
        case doubtful = "in_doubt"
    }

    /// A redrive that has begun with a dead letter and has no end mark. If two calls mark it, the first mark counts.
    struct BegunAction: Sendable, Hashable {
        let run: String
        /// The cluster's time of the mark, in milliseconds since 1970.
        let at: Int64
    }

    /// A resend that has begun with a sheet and has no end mark.
    struct BegunResend: Sendable, Hashable {
        let run: String
        /// The cluster's time of the mark, in milliseconds since 1970.
        let at: Int64
        /// The lines that the call sends. The call never sends another line of the sheet under this mark.
        let lines: LineSet
    }

    // Dead letters, by their offset.
    private var redriven = OffsetSet()
    private var discarded = OffsetSet()
    private var begunActions: [Int64: BegunAction] = [:]

    // Jobs, by the sheet in which they were first written and by their lines in it.
    /// The jobs of resends that are done.
    private var resentLines: [JobPosition: Set<Int>] = [:]
    private var begunResends: [JobPosition: BegunResend] = [:]
    /// The jobs of redriven dead letters. Empty if they are not kept.
    private var redrivenLines: [JobPosition: Set<Int>] = [:]
    private let keepsJobs: Bool

    /// The first offset that was read. Nil before the first record.
    private var firstOffset: Int64?
    /// The offset up to which the partition is read.
    private(set) var readEnd: Int64 = 0
    private let reader = JSONReader()

    /// - Parameter keepsJobs: Whether to keep the jobs of redriven dead letters.
    package init(keepsJobs: Bool = false) { self.keepsJobs = keepsJobs }

    // MARK: Dead letters

    /// Returns the state of a dead letter by its own marks. `listedState` also counts the marks of resends.
    ///
    /// - Parameter letter: The offset of the dead letter.
    package func state(of letter: Int64) -> DeadLetterState {
        // A discard is final, so it comes before a redrive.
        if discarded.contains(letter) { return .discarded }
        if redriven.contains(letter) { return .redriven }
        return begunActions[letter] == nil ? .open : .doubtful
    }

    /// Returns the state for a list: a dead letter is not open any more if `flotilla replay resend` has sent its jobs, and
    /// is in doubt if that call has not ended.
    func listedState(of letter: DeadLetterRecord) -> DeadLetterState {
        let state = state(of: letter.id.offset)
        // The sheet is decoded only if the partition has marks of resends.
        let hasResends = !resentLines.isEmpty || !begunResends.isEmpty
        guard state == .open, hasResends, let jobs = letter.sheet?.allJobs, isTakenByResend(jobs) else {
            return state
        }
        return isBeingResent(jobs) ? .doubtful : .redriven
    }

    /// Returns the redrive that has begun with a dead letter, or nil.
    func begunAction(on letter: Int64) -> BegunAction? { begunActions[letter] }

    // MARK: Jobs

    /// Whether `flotilla replay resend` has sent any of these jobs, or has begun to send it.
    func isTakenByResend(_ jobs: DeadLetterMark.SheetLines) -> Bool {
        let resent = resentLines[jobs.position] ?? []
        return isBeingResent(jobs) || jobs.lines.containsLine { resent.contains($0) }
    }

    /// Whether a resend has begun with any of these jobs and has not ended.
    private func isBeingResent(_ jobs: DeadLetterMark.SheetLines) -> Bool {
        guard let begun = begunResends[jobs.position] else { return false }
        return jobs.lines.containsLine { begun.lines.contains($0) }
    }

    /// Returns the resend that has begun with a sheet and has no end mark, or nil.
    func begunResend(at position: JobPosition) -> BegunResend? { begunResends[position] }

    /// Whether a resend is done with a job, or a redrive has begun with it.
    func wasSentAgain(_ line: Int, at position: JobPosition) -> Bool {
        resentLines[position]?.contains(line) == true || redrivenLines[position]?.contains(line) == true
    }

    /// Whether a call may send these jobs after its mark: the mark counts for all of them, and no redrive has begun with
    /// one of them.
    func isClaimed(_ jobs: DeadLetterMark.SheetLines, byRun run: String) -> Bool {
        guard let begun = begunResends[jobs.position], begun.run == run else { return false }
        return begun.lines == jobs.lines
            && !jobs.lines.containsLine { wasSentAgain($0, at: jobs.position) }
    }

    // MARK: Records

    /// Applies the next record of the partition. A record that is not a mark only moves the end.
    package mutating func apply(_ record: borrowing Kafka.Record) {
        readEnd = max(readEnd, record.offset + 1)
        if firstOffset == nil { firstOffset = record.offset }
        guard record.headers.last(named: DeadLetterMark.header) != nil,
            let value = [UInt8](copying: record.value),
            let mark = try? DeadLetterMark.decode(value, with: reader)
        else { return }
        apply(mark, timestamp: record.timestamp ?? mark.at)
    }

    /// - Parameter timestamp: The cluster's time of the mark, in milliseconds since 1970.
    mutating func apply(_ mark: DeadLetterMark, timestamp: Int64) {
        switch (mark.operation, mark.phase) {
        case (.discard, _):
            for letter in mark.letterOffsets where wasRead(letter) { discarded.insert(letter) }
        case (.redrive, .begun):
            for letter in mark.letterOffsets where begunActions[letter] == nil {
                begunActions[letter] = BegunAction(run: mark.run, at: timestamp)
            }
            if keepsJobs { for jobs in mark.jobs { Self.add(jobs, to: &redrivenLines) } }
        case (.redrive, .done):
            for letter in mark.letterOffsets {
                begunActions[letter] = nil
                if wasRead(letter) { redriven.insert(letter) }
            }
        case (.redrive, .left):
            let isAbandoned = mark.letterOffsets.contains { begunActions[$0]?.run == mark.run }
            if isAbandoned { for jobs in mark.jobs { Self.remove(jobs, from: &redrivenLines) } }
            for letter in mark.letterOffsets where begunActions[letter]?.run == mark.run {
                begunActions[letter] = nil
            }
        case (.resend, .begun):
            for jobs in mark.jobs { beginResend(of: jobs, byRun: mark.run, timestamp: timestamp) }
        case (.resend, .done), (.resend, .left):
            for jobs in mark.jobs {
                if mark.phase == .done { Self.add(jobs, to: &resentLines) }
                if begunResends[jobs.position]?.run == mark.run { begunResends[jobs.position] = nil }
            }
        }
    }

    /// Applies a begun mark of a resend. The mark does not count if another call has begun with the sheet and
    /// has not ended. It does not count for jobs with which an earlier call is done. The call that wrote the
    /// mark reads those earlier marks only afterwards, and then sends none of the jobs (`isClaimed`).
    private mutating func beginResend(
        of jobs: DeadLetterMark.SheetLines, byRun run: String, timestamp: Int64
    ) {
        guard begunResends[jobs.position] == nil else { return }
        let resent = resentLines[jobs.position] ?? []
        var lines = LineSet()
        jobs.lines.forEachLine { if !resent.contains($0) { lines.append($0) } }
        if lines.isEmpty { return }
        begunResends[jobs.position] = BegunResend(run: run, at: timestamp, lines: lines)
    }

    private static func add(_ jobs: DeadLetterMark.SheetLines, to table: inout [JobPosition: Set<Int>]) {
        jobs.lines.forEachLine { line in _ = table[jobs.position, default: []].insert(line) }
    }

    private static func remove(
        _ jobs: DeadLetterMark.SheetLines, from table: inout [JobPosition: Set<Int>]
    ) {
        jobs.lines.forEachLine { line in table[jobs.position]?.remove(line) }
    }

    /// Whether an offset in a mark is among the records that were read. A mark always follows its dead letters, so an
    /// offset beyond the end is invalid. An offset before the first one is outside the scan, or has expired.
    private func wasRead(_ letter: Int64) -> Bool {
        guard let firstOffset else { return false }
        return (firstOffset..<readEnd).contains(letter)
    }
}

extension LineSet {
    fileprivate func containsLine(where isWanted: (Int) -> Bool) -> Bool {
        ranges.contains { $0.contains(where: isWanted) }
    }
}

/// A set of offsets of one partition, with one bit for each offset. It has a page of bits for each range of offsets with
/// an element, so that the first offsets of an old partition need no memory.
private struct OffsetSet {
    private static let offsetsPerPage: Int64 = 4096
    private static let offsetsPerWord: Int64 = 64
    private static let emptyPage = [UInt64](repeating: 0, count: Int(offsetsPerPage / offsetsPerWord))

    private var pages: [Int64: [UInt64]] = [:]

    func contains(_ offset: Int64) -> Bool {
        guard let words = pages[offset / Self.offsetsPerPage] else { return false }
        return words[Self.wordIndex(of: offset)] & Self.bit(of: offset) != 0
    }

    mutating func insert(_ offset: Int64) {
        pages[offset / Self.offsetsPerPage, default: Self.emptyPage][Self.wordIndex(of: offset)] |=
            Self.bit(of: offset)
    }

    private static func wordIndex(of offset: Int64) -> Int {
        Int(offset % offsetsPerPage / offsetsPerWord)
    }

    private static func bit(of offset: Int64) -> UInt64 { 1 << UInt64(offset % offsetsPerWord) }
}
