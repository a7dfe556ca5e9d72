internal import JSON
package import Kafka
internal import LiveActivity

/// The state of the dead letters of one partition, from its marks. It uses one or two bits for each offset.
package struct LetterJournal {
    /// The state of one dead letter.
    package enum State: String, Sendable {
        case open
        case redriven
        case discarded
        /// A redrive has begun, and no mark says whether it was completed.
        case doubtful = "in_doubt"
    }

    /// An action that has begun and has no end mark.
    struct Begun: Sendable, Hashable {
        let run: String
        /// The cluster's time of the mark, in milliseconds since 1970.
        let at: Int64
        /// The offset of the mark. If two calls mark the same dead letter, the first mark counts.
        let offset: Int64
    }

    private var first: Int64?
    private var redriven: [UInt64] = []
    private var discarded: [UInt64] = []
    private var begun: [Int64: Begun] = [:]
    /// The jobs that `replay resend` sent, by their first place. `redrivenJobs` has the jobs of redriven dead
    /// letters, if they are kept.
    private var resent: [JobPlace: Set<Int>] = [:]
    private var redrivenJobs: [JobPlace: Set<Int>] = [:]
    private var begunSheets: [JobPlace: Begun] = [:]
    private let keepsJobs: Bool
    /// The offset up to which the partition is read.
    private(set) var end: Int64 = 0
    private let reader = JSONReader()

    /// - Parameter keepsJobs: Whether to keep the jobs of redriven dead letters.
    package init(keepsJobs: Bool = false) { self.keepsJobs = keepsJobs }

    package func state(of letter: Int64) -> State {
        if contains(letter, discarded) { return .discarded }
        if contains(letter, redriven) { return .redriven }
        return begun[letter] == nil ? .open : .doubtful
    }

    func begun(_ letter: Int64) -> Begun? { begun[letter] }

    /// Whether `replay resend` sent any job of a dead letter.
    func wereResent(_ sheet: LetterSheet) -> Bool {
        guard let lines = resent[sheet.place] else { return false }
        var some = false
        sheet.lines.forEachLine { if lines.contains($0) { some = true } }
        return some
    }

    /// Returns a resend of a sheet's jobs that has begun and has no end mark.
    func begunSheet(_ place: JobPlace) -> Begun? { begunSheets[place] }

    /// Whether a job was sent again by redrive or resend, or is being sent.
    func wasSentAgain(_ line: Int, at place: JobPlace) -> Bool {
        resent[place]?.contains(line) == true || redrivenJobs[place]?.contains(line) == true
    }

    /// Applies the next record of the partition. A record that is not a mark only moves the end.
    package mutating func read(_ record: borrowing Kafka.Record) {
        end = max(end, record.offset + 1)
        if first == nil { first = record.offset }
        guard record.headers.last(LetterMark.header) != nil, let value = [UInt8](copying: record.value),
            let mark = try? LetterMark.decode(value, with: reader)
        else { return }
        hear(mark, at: record.offset, stamp: record.timestamp ?? mark.at)
    }

    private mutating func hear(_ mark: LetterMark, at offset: Int64, stamp: Int64) {
        switch (mark.deed, mark.phase) {
        case (.discard, _): for letter in mark.letters { insert(letter, into: \.discarded) }
        case (.redrive, .begun):
            for letter in mark.letters where begun[letter] == nil {
                begun[letter] = Begun(run: mark.run, at: stamp, offset: offset)
            }
            if keepsJobs { for jobs in mark.jobs { Self.add(jobs, to: &redrivenJobs) } }
        case (.redrive, .done):
            for letter in mark.letters {
                begun[letter] = nil
                insert(letter, into: \.redriven)
            }
        case (.redrive, .left):
            for letter in mark.letters where begun[letter]?.run == mark.run { begun[letter] = nil }
        case (.resend, .left):
            for jobs in mark.jobs where begunSheets[jobs.place]?.run == mark.run {
                begunSheets[jobs.place] = nil
                resent[jobs.place] = nil
            }
        case (.resend, .begun):
            for jobs in mark.jobs {
                if begunSheets[jobs.place] == nil {
                    begunSheets[jobs.place] = Begun(run: mark.run, at: stamp, offset: offset)
                }
                Self.add(jobs, to: &resent)
            }
        case (.resend, .done): for jobs in mark.jobs { begunSheets[jobs.place] = nil }
        }
    }

    private static func add(_ jobs: LetterMark.Jobs, to table: inout [JobPlace: Set<Int>]) {
        jobs.lines.forEachLine { line in _ = table[jobs.place, default: []].insert(line) }
    }

    private func contains(_ letter: Int64, _ words: [UInt64]) -> Bool {
        guard let first, letter >= first else { return false }
        let bit = letter - first
        return bit >> 6 < words.count && words[Int(bit >> 6)] & (1 << UInt64(bit & 63)) != 0
    }

    /// Sets the bit of a dead letter. A mark always follows its dead letters, so an offset before the first
    /// one read has expired, and an offset beyond the end is invalid.
    private mutating func insert(_ letter: Int64, into words: WritableKeyPath<LetterJournal, [UInt64]>) {
        guard let first, letter >= first, letter < end else { return }
        let bit = letter - first
        while self[keyPath: words].count <= bit >> 6 { self[keyPath: words].append(0) }
        self[keyPath: words][Int(bit >> 6)] |= 1 << UInt64(bit & 63)
    }
}
