internal import LiveActivity

/// What `receipts` say of jobs that an earlier owner of the lane may have begun: which are done, which went on
/// to a later tier, and which starts were about to leave.
struct Ledger: Sendable {
    fileprivate struct Entry: Sendable {
        var done = LineBits()
        /// Lines by the attempts that went on to a tier, or were about to leave.
        var moved: [Int: LineBits] = [:]
        var intended: [Int: LineBits] = [:]
    }

    /// What is known of one job.
    enum Standing: Sendable, Hashable {
        case open
        /// It has its last word, or goes on as a later attempt.
        case done
        /// A start of this attempt was about to leave, and nobody knows whether it did.
        case intended
    }

    private var entries: Remembered<JobPlace, Entry>
    /// The lines that are done of sheets that are committed: only a job that stands in a tier, too, asks for them.
    private var past: Remembered<JobPlace, LineBits>

    /// Of committed sheets it knows so many times fewer: a twin comes within the minutes of a tier.
    private static let pastShare = 4

    /// - Parameter sheetsMax: sheets that it knows; the oldest are forgotten, and may be pushed again.
    init(sheetsMax: Int) {
        entries = Remembered(max: sheetsMax)
        past = Remembered(max: sheetsMax / Self.pastShare)
    }

    /// Rises with what somebody else has said: an earlier owner, or the twin of a sheet.
    private(set) var revision = 0

    func knows(_ place: JobPlace) -> Bool { entries[place] != nil || past[place] != nil }

    func standing(of line: Int, at place: JobPlace, attempt: Int) -> Standing {
        if past[place]?.contains(line) == true { return .done }
        guard let entry = entries[place] else { return .open }
        if entry.done.contains(line) { return .done }
        for (other, lines) in entry.moved where other >= attempt && lines.contains(line) { return .done }
        return entry.intended[attempt]?.contains(line) == true ? .intended : .open
    }

    /// What was said of a sheet that is committed.
    mutating func notePast(_ place: JobPlace, _ parts: [Receipt.Part]) {
        for part in parts where part.outcome.isFinal {
            past.update(place, otherwise: LineBits()) { done in
                part.lines.forEachLine { done.insert($0) }
            }
        }
    }

    /// - Parameter isNews: it is not the word of the sheet itself that stands there.
    mutating func note(_ place: JobPlace, attempt: Int, _ parts: [Receipt.Part], isNews: Bool) {
        if isNews { revision += 1 }
        entries.update(place, otherwise: Entry()) { entry in
            for part in parts { entry.note(part, attempt: attempt) }
        }
    }
}

extension Ledger.Entry {
    fileprivate mutating func note(_ part: Receipt.Part, attempt: Int) {
        part.lines.forEachLine { line in
            switch part.outcome {
            case .accepted, .rejected, .superseded, .expired, .unknown: done.insert(line)
            case .moved: moved[attempt, default: LineBits()].insert(line)
            case .intent: intended[attempt, default: LineBits()].insert(line)
            case .released: intended[attempt]?.remove(line)
            }
        }
    }
}
