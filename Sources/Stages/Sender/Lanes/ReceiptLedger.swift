internal import LiveActivity

/// The content of `receipts` about jobs that an earlier owner of the lane may have begun: jobs that are done,
/// jobs that moved to a tier, and starts that were about to leave.
struct ReceiptLedger: Sendable {
    fileprivate struct SheetEntry: Sendable {
        var done = LineBitmap()
        /// Lines by the attempts that moved to a tier, or that were about to leave.
        var moved: [Int: LineBitmap] = [:]
        var intended: [Int: LineBitmap] = [:]
    }

    /// The known state of one job.
    enum RecordedProgress: Sendable, Hashable {
        case notRecorded
        /// The job has its final outcome, or continues as a later attempt.
        case done
        /// A start of this attempt was about to leave, and it is unknown whether it did.
        case intentStored
    }

    private var entries: BoundedTable<JobPosition, SheetEntry>
    /// Lines that are done of committed sheets. Only a job that is also in a tier needs them.
    private var past: BoundedTable<JobPosition, LineBitmap>

    /// Divisor for the number of committed sheets that are remembered. Fewer are enough, because a duplicate comes
    /// within the minutes of a tier.
    private static let pastShare = 4

    /// - Parameter sheetsMax: limit of remembered sheets. The oldest are forgotten, and their jobs may be
    ///   pushed again.
    init(sheetsMax: Int) {
        entries = BoundedTable(max: sheetsMax)
        past = BoundedTable(max: sheetsMax / Self.pastShare)
    }

    /// Number of changes from other sources: an earlier owner, or the duplicate of a sheet.
    private(set) var revision = 0

    func knows(_ place: JobPosition) -> Bool { entries[place] != nil || past[place] != nil }

    func progress(of line: Int, at place: JobPosition, attempt: Int) -> RecordedProgress {
        if past[place]?.contains(line) == true { return .done }
        guard let entry = entries[place] else { return .notRecorded }
        if entry.done.contains(line) { return .done }
        for (other, lines) in entry.moved where other >= attempt && lines.contains(line) { return .done }
        return entry.intended[attempt]?.contains(line) == true ? .intentStored : .notRecorded
    }

    /// Records a receipt about a committed sheet.
    mutating func recordPast(_ parts: [Receipt.Part], of place: JobPosition) {
        for part in parts where part.outcome.isFinal {
            past.update(place, otherwise: LineBitmap()) { done in
                part.lines.forEachLine { done.insert($0) }
            }
        }
    }

    /// Records a receipt.
    ///
    /// - Parameter isNews: whether another source than the sheet itself wrote it.
    mutating func record(_ parts: [Receipt.Part], of place: JobPosition, attempt: Int, isNews: Bool) {
        if isNews { revision += 1 }
        entries.update(place, otherwise: SheetEntry()) { entry in
            for part in parts { entry.record(part, attempt: attempt) }
        }
    }
}

extension ReceiptLedger.SheetEntry {
    fileprivate mutating func record(_ part: Receipt.Part, attempt: Int) {
        part.lines.forEachLine { line in
            switch part.outcome {
            case .accepted, .rejected, .superseded, .expired, .unknown: done.insert(line)
            case .moved: moved[attempt, default: LineBitmap()].insert(line)
            case .intent: intended[attempt, default: LineBitmap()].insert(line)
            case .released: intended[attempt]?.remove(line)
            }
        }
    }
}
