internal import Jobs

// Duplicates: the same job on a second sheet. A job has one if an owner of the lane moved it to a tier and died before
// the receipt. Then the job also lies on its first sheet.
//
// The copy that is decided first counts, as soon as its outcome is stored. Until then the other copy waits. Both copies
// push to the same subject, which stays held until that time.

/// The progress of the duplicate of a job.
enum DuplicateProgress {
    /// The job has no duplicate, or the duplicate waits.
    case notStarted
    /// The duplicate is being pushed, or its outcome is being stored.
    case underWay
    case done
}

extension DeliveryPlan {
    /// Returns the progress of the duplicate of a line's job. It is mutating only for speed (`DeliveryPlan`).
    mutating func duplicateProgress(of sheet: Sheet, line: Int) -> DuplicateProgress {
        guard sheet.needsLedger else { return .notStarted }
        if sheet.recordedProgress(of: line) == .done { return .done }
        return claims.isSubjectBusy(sheet, line: line) ? .underWay : .notStarted
    }

    /// Skips unsent lines whose jobs a duplicate has done since the sheet began.
    mutating func skipLinesDoneByDuplicates(of sheet: Sheet) {
        sheet.comparedLedgerRevision = sheet.lane.ledger.revision
        guard sheet.lane.ledger.hasReceipt(about: sheet.originPosition) else { return }
        for line in 0..<sheet.lineCount
        where sheet.isUnsent(line) && sheet.recordedProgress(of: line) == .done { skip(sheet, line: line) }
        removeIfDone(sheet)
    }
}
