internal import JSON
package import Kafka
internal import LiveActivity

/// What was done about the letters of one partition, as its marks say. A bit or two for each offset.
package struct LetterJournal {
    /// What is known of one letter.
    package enum State: String, Sendable {
        case open
        case redriven
        case discarded
        /// It was begun to send it again, and nobody has written whether that was done.
        case doubtful = "in_doubt"
    }

    /// A deed that was begun and has no end.
    struct Begun: Sendable, Hashable {
        let run: String
        /// Milliseconds since 1970, by the cluster's clock.
        let at: Int64
        /// Of the mark: of two, the first counts.
        let offset: Int64
    }

    private var first: Int64?
    private var redriven: [UInt64] = []
    private var discarded: [UInt64] = []
    private var begun: [Int64: Begun] = [:]
    /// Jobs that were sent again by `replay resend`, by where they first stood; and, where they are asked for,
    /// those that were sent again as letters.
    private var resent: [JobPlace: Set<Int>] = [:]
    private var redrivenJobs: [JobPlace: Set<Int>] = [:]
    private var begunSheets: [JobPlace: Begun] = [:]
    private let keepsJobs: Bool
    /// All before it is known.
    private(set) var end: Int64 = 0
    private let reader = JSONReader()

    /// - Parameter keepsJobs: also which jobs were sent again as letters.
    package init(keepsJobs: Bool = false) { self.keepsJobs = keepsJobs }

    package func state(of letter: Int64) -> State {
        if contains(letter, discarded) { return .discarded }
        if contains(letter, redriven) { return .redriven }
        return begun[letter] == nil ? .open : .doubtful
    }

    func begun(_ letter: Int64) -> Begun? { begun[letter] }

    /// Whether jobs of a letter went out again by another way.
    func wereResent(_ sheet: LetterSheet) -> Bool {
        guard let lines = resent[sheet.place] else { return false }
        var some = false
        sheet.lines.forEachLine { if lines.contains($0) { some = true } }
        return some
    }

    /// A resend of jobs of a sheet that was begun and has no end.
    func begunSheet(_ place: JobPlace) -> Begun? { begunSheets[place] }

    /// Whether a job went out again, one way or the other, or is going.
    func wasSentAgain(_ line: Int, at place: JobPlace) -> Bool {
        resent[place]?.contains(line) == true || redrivenJobs[place]?.contains(line) == true
    }

    /// Takes the next record of the partition; what is no mark changes nothing.
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

    /// Marks stand behind their letters, so that a letter before the first offset is gone, and none is behind.
    private mutating func insert(_ letter: Int64, into words: WritableKeyPath<LetterJournal, [UInt64]>) {
        guard let first, letter >= first, letter < end else { return }
        let bit = letter - first
        while self[keyPath: words].count <= bit >> 6 { self[keyPath: words].append(0) }
        self[keyPath: words][Int(bit >> 6)] |= 1 << UInt64(bit & 63)
    }
}
