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
        /// A redrive has begun, and no mark shows that it was completed.
        case doubtful = "in_doubt"
    }

    /// A redrive or resend that has begun and has no end mark.
    struct BegunAction: Sendable, Hashable {
        let run: String
        /// The cluster's time of the mark, in milliseconds since 1970.
        let at: Int64
        /// The offset of the mark. If two calls mark the same dead letter, the first mark counts.
        let offset: Int64
    }

    /// A begun resend of some jobs of a sheet.
    private struct BegunResend {
        let action: BegunAction
        let lines: LineSet
    }

    // Dead letters, by their offset.
    private var redriven = OffsetSet()
    private var discarded = OffsetSet()
    private var begunActions: [Int64: BegunAction] = [:]

    // Jobs, by the sheet in which they were first written and by their lines in it.
    private var resentLines: [JobPosition: Set<Int>] = [:]
    /// The jobs of redriven dead letters. Empty if they are not kept.
    private var redrivenLines: [JobPosition: Set<Int>] = [:]
    private var begunResends: [JobPosition: BegunResend] = [:]
    private let keepsJobs: Bool

    /// The first offset that was read. Nil before the first record.
    private var firstOffset: Int64?
    /// The offset up to which the partition is read.
    private(set) var readEnd: Int64 = 0
    private let reader = JSONReader()

    /// - Parameter keepsJobs: Whether to keep the jobs of redriven dead letters.
    package init(keepsJobs: Bool = false) { self.keepsJobs = keepsJobs }

    // MARK: Dead letters

    /// - Parameter letter: The offset of the dead letter.
    package func state(of letter: Int64) -> DeadLetterState {
        // A discard is final, so it comes before a redrive.
        if discarded.contains(letter) { return .discarded }
        if redriven.contains(letter) { return .redriven }
        return begunActions[letter] == nil ? .open : .doubtful
    }

    /// Returns the state for a list: a dead letter whose jobs `flotilla replay resend` has sent is not open any more.
    func listedState(of letter: DeadLetterRecord) -> DeadLetterState {
        let state = state(of: letter.id.offset)
        // The sheet is decoded only if the partition has resent jobs.
        guard state == .open, !resentLines.isEmpty, let sheet = letter.sheet, wasResent(sheet) else {
            return state
        }
        return .redriven
    }

    /// Returns the redrive that has begun with a dead letter, or nil.
    func begunAction(on letter: Int64) -> BegunAction? { begunActions[letter] }

    // MARK: Jobs

    /// Whether `flotilla replay resend` sent any job of a dead letter.
    func wasResent(_ sheet: DeadLetterSheet) -> Bool {
        guard let lines = resentLines[sheet.position] else { return false }
        var wasAnyResent = false
        sheet.lines.forEachLine { if lines.contains($0) { wasAnyResent = true } }
        return wasAnyResent
    }

    /// Returns a resend of a sheet's jobs that has begun and has no end mark.
    func begunResend(at position: JobPosition) -> BegunAction? { begunResends[position]?.action }

    /// Returns a resend of this job that has begun and has no end mark.
    func begunResend(of line: Int, at position: JobPosition) -> BegunAction? {
        guard let begun = begunResends[position], begun.lines.contains(line) else { return nil }
        return begun.action
    }

    /// Whether a job was sent again by redrive or resend, or is being sent.
    func wasSentAgain(_ line: Int, at position: JobPosition) -> Bool {
        resentLines[position]?.contains(line) == true || redrivenLines[position]?.contains(line) == true
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
        apply(mark, at: record.offset, timestamp: record.timestamp ?? mark.at)
    }

    private mutating func apply(_ mark: DeadLetterMark, at offset: Int64, timestamp: Int64) {
        switch (mark.operation, mark.phase) {
        case (.discard, _):
            for letter in mark.letterOffsets where wasRead(letter) { discarded.insert(letter) }
        case (.redrive, .begun):
            for letter in mark.letterOffsets where begunActions[letter] == nil {
                begunActions[letter] = BegunAction(run: mark.run, at: timestamp, offset: offset)
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
            for jobs in mark.jobs {
                if begunResends[jobs.position] == nil {
                    begunResends[jobs.position] = BegunResend(
                        action: BegunAction(run: mark.run, at: timestamp, offset: offset), lines: jobs.lines)
                }
                Self.add(jobs, to: &resentLines)
            }
        case (.resend, .done): for jobs in mark.jobs { begunResends[jobs.position] = nil }
        case (.resend, .left):
            for position in mark.jobs.map(\.position) {
                guard let begun = begunResends[position], begun.action.run == mark.run else { continue }
                begunResends[position] = nil
                // Other jobs of the sheet may have been resent by earlier calls.
                Self.remove(
                    DeadLetterMark.SheetLines(position: position, lines: begun.lines), from: &resentLines)
            }
        }
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
