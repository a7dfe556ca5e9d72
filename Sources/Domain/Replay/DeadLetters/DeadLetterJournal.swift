internal import JSON
internal import Jobs
package import Kafka
internal import RecordFormat

/// The state of the dead letters of one partition, from its marks. It uses one or two bits for each offset.
package struct DeadLetterJournal {
    /// The state of one dead letter.
    package enum DeadLetterState: String, Sendable {
        case open
        case redriven
        case discarded
        /// A redrive has begun, and no mark says whether it was completed.
        case doubtful = "in_doubt"
    }

    /// An action that has begun and has no end mark.
    struct BegunAction: Sendable, Hashable {
        let run: String
        /// The cluster's time of the mark, in milliseconds since 1970.
        let at: Int64
        /// The offset of the mark. If two calls mark the same dead letter, the first mark counts.
        let offset: Int64
    }

    private var first: Int64?
    private var redriven: [UInt64] = []
    private var discarded: [UInt64] = []
    private var begunActions: [Int64: BegunAction] = [:]
    /// The jobs that `replay resend` sent, by their first place. `redrivenLines` has the jobs of redriven dead
    /// letters, if they are kept.
    private var resentLines: [JobPosition: Set<Int>] = [:]
    private var redrivenLines: [JobPosition: Set<Int>] = [:]
    private var begunResends: [JobPosition: BegunAction] = [:]
    private let keepsJobs: Bool
    /// The offset up to which the partition is read.
    private(set) var end: Int64 = 0
    private let reader = JSONReader()

    /// - Parameter keepsJobs: Whether to keep the jobs of redriven dead letters.
    package init(keepsJobs: Bool = false) { self.keepsJobs = keepsJobs }

    package func state(of letter: Int64) -> DeadLetterState {
        if contains(letter, in: discarded) { return .discarded }
        if contains(letter, in: redriven) { return .redriven }
        return begunActions[letter] == nil ? .open : .doubtful
    }

    func begunAction(on letter: Int64) -> BegunAction? { begunActions[letter] }

    /// Whether `replay resend` sent any job of a dead letter.
    func wasResent(_ sheet: DeadLetterSheet) -> Bool {
        guard let lines = resentLines[sheet.position] else { return false }
        var some = false
        sheet.lines.forEachLine { if lines.contains($0) { some = true } }
        return some
    }

    /// Returns a resend of a sheet's jobs that has begun and has no end mark.
    func begunResend(at place: JobPosition) -> BegunAction? { begunResends[place] }

    /// Whether a job was sent again by redrive or resend, or is being sent.
    func wasSentAgain(_ line: Int, at place: JobPosition) -> Bool {
        resentLines[place]?.contains(line) == true || redrivenLines[place]?.contains(line) == true
    }

    /// Applies the next record of the partition. A record that is not a mark only moves the end.
    package mutating func apply(_ record: borrowing Kafka.Record) {
        end = max(end, record.offset + 1)
        if first == nil { first = record.offset }
        guard record.headers.last(named: DeadLetterMark.header) != nil,
            let value = [UInt8](copying: record.value),
            let mark = try? DeadLetterMark.decode(value, with: reader)
        else { return }
        apply(mark, at: record.offset, timestamp: record.timestamp ?? mark.at)
    }

    private mutating func apply(_ mark: DeadLetterMark, at offset: Int64, timestamp: Int64) {
        switch (mark.operation, mark.phase) {
        case (.discard, _): for letter in mark.letterOffsets { insert(letter, into: \.discarded) }
        case (.redrive, .begun):
            for letter in mark.letterOffsets where begunActions[letter] == nil {
                begunActions[letter] = BegunAction(run: mark.run, at: timestamp, offset: offset)
            }
            if keepsJobs { for jobs in mark.jobs { Self.add(jobs, to: &redrivenLines) } }
        case (.redrive, .done):
            for letter in mark.letterOffsets {
                begunActions[letter] = nil
                insert(letter, into: \.redriven)
            }
        case (.redrive, .left):
            for letter in mark.letterOffsets where begunActions[letter]?.run == mark.run {
                begunActions[letter] = nil
            }
        case (.resend, .left):
            for jobs in mark.jobs where begunResends[jobs.position]?.run == mark.run {
                begunResends[jobs.position] = nil
                resentLines[jobs.position] = nil
            }
        case (.resend, .begun):
            for jobs in mark.jobs {
                if begunResends[jobs.position] == nil {
                    begunResends[jobs.position] = BegunAction(run: mark.run, at: timestamp, offset: offset)
                }
                Self.add(jobs, to: &resentLines)
            }
        case (.resend, .done): for jobs in mark.jobs { begunResends[jobs.position] = nil }
        }
    }

    private static func add(_ jobs: DeadLetterMark.SheetLines, to table: inout [JobPosition: Set<Int>]) {
        jobs.lines.forEachLine { line in _ = table[jobs.position, default: []].insert(line) }
    }

    private func contains(_ letter: Int64, in words: [UInt64]) -> Bool {
        guard let first, letter >= first else { return false }
        let bit = letter - first
        return bit >> 6 < words.count && words[Int(bit >> 6)] & (1 << UInt64(bit & 63)) != 0
    }

    /// Sets the bit of a dead letter. A mark always follows its dead letters, so an offset before the first
    /// one read has expired, and an offset beyond the end is invalid.
    private mutating func insert(_ letter: Int64, into words: WritableKeyPath<DeadLetterJournal, [UInt64]>) {
        guard let first, letter >= first, letter < end else { return }
        let bit = letter - first
        while self[keyPath: words].count <= bit >> 6 { self[keyPath: words].append(0) }
        self[keyPath: words][Int(bit >> 6)] |= 1 << UInt64(bit & 63)
    }
}
