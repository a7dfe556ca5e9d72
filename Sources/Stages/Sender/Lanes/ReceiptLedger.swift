internal import Jobs

/// The outcomes that `receipts` has for jobs that an earlier owner of the lane may have begun, or that have a duplicate
/// on another sheet: jobs that are done, jobs that moved to a tier, and starts that were about to leave.
///
/// A job is known by the position where it was first stored and its line there. Moves and intents are kept for each
/// attempt.
struct ReceiptLedger: Sendable {
    fileprivate struct SheetEntry: Sendable {
        var done = LineBitmap()
        /// Lines that moved to a tier, by attempt.
        var moved: [Int: LineBitmap] = [:]
        /// Starts that were about to leave, by attempt.
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

    /// The sheets, by the position where their jobs were first stored.
    private var entries: BoundedTable<JobPosition, SheetEntry>
    /// Lines that are done, of sheets below the committed offset. These sheets are not read again, but a duplicate of
    /// their jobs may come from a tier.
    private var doneBelowCommit: BoundedTable<JobPosition, LineBitmap>
    /// Rises with each receipt that this owner did not expect: of an earlier owner, or of a duplicate. A sheet that was
    /// compared at another revision (`Sheet.comparedLedgerRevision`) is compared again.
    private(set) var revision = 0

    /// A quarter as many sheets below the commit are remembered, because a duplicate comes within the minutes of a
    /// tier.
    private static let belowCommitDivisor = 4

    /// - Parameter sheetsMax: limit of remembered sheets. The oldest are forgotten, and their jobs, also starts, may be
    ///   pushed again.
    init(sheetsMax: Int) {
        entries = BoundedTable(max: sheetsMax)
        doneBelowCommit = BoundedTable(max: sheetsMax / Self.belowCommitDivisor)
    }

    /// Returns whether there is a receipt about a sheet.
    func hasReceipt(about position: JobPosition) -> Bool {
        entries[position] != nil || doneBelowCommit[position] != nil
    }

    /// Returns the state of a job.
    ///
    /// - Parameter line: its number at the position.
    func progress(of line: Int, at position: JobPosition, attempt: Int) -> RecordedProgress {
        if doneBelowCommit[position]?.contains(line) == true { return .done }
        guard let entry = entries[position] else { return .notRecorded }
        if entry.done.contains(line) { return .done }
        // If this or a later attempt moved to a tier, the job continues there.
        for (movedAttempt, lines) in entry.moved where movedAttempt >= attempt && lines.contains(line) {
            return .done
        }
        return entry.intended[attempt]?.contains(line) == true ? .intentStored : .notRecorded
    }

    /// Records a receipt about a sheet below the commit.
    mutating func recordBelowCommit(_ parts: [Receipt.Part], of position: JobPosition) {
        for part in parts where part.outcome.isFinal {
            doneBelowCommit.update(position, otherwise: LineBitmap()) { done in
                part.lines.forEachLine { done.insert($0) }
            }
        }
    }

    /// Records a receipt.
    ///
    /// - Parameter invalidatesComparisons: whether the receipt may be of an earlier owner, or of a duplicate of a sheet
    ///   in hand, so that sheets have to be compared again.
    mutating func record(
        _ parts: [Receipt.Part], of position: JobPosition, attempt: Int, invalidatesComparisons: Bool
    ) {
        if invalidatesComparisons { revision += 1 }
        entries.update(position, otherwise: SheetEntry()) { entry in
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
