internal import Jobs
internal import Lifecycle

// The end of lines and sheets. It changes the stage of a line, the permit and subject that it holds, and the outcomes
// to be written. Lines end in these ways:
//
// `decide`, `decideAccepted`: the line has an outcome, which is written later.
// `skip`: an earlier owner or a duplicate has done the job. Nothing is written.
// `leaveToNextOwner`: the line has no outcome, and the next owner of the lane has the job.
// `leaveDecidedLinesToNextOwner`: the lines have outcomes that must not be written, so the next owner has the jobs.
extension DeliveryPlan {
    /// Decides the outcome of a line. The outcome is written later.
    mutating func decide(_ sheet: Sheet, line: Int, as outcome: LineOutcome) {
        guard markDecided(sheet, line: line) else { return }
        sheet.unwritten.add(line, as: outcome)
        // The next owner reads the sheet again, so its offset stays open.
        if outcome == .released { sheet.isLeftToNextOwner = true }
        records.add(sheet, at: time.now)
    }

    /// Decides the same outcome for all lines that wait. A line whose duplicate is done is skipped. A line whose
    /// duplicate is under way waits for it, and is decided when it is dispatched again.
    mutating func decideWaiting(_ sheet: Sheet, as outcome: LineOutcome) {
        decideWaiting(sheet) { _ in outcome }
    }

    /// Decides the same outcome for some of the lines that wait.
    mutating func decideWaiting(
        _ sheet: Sheet, as outcome: LineOutcome, where isIncluded: (Int) -> Bool
    ) {
        decideWaiting(sheet) { isIncluded($0) ? outcome : nil }
    }

    /// Moves all lines that wait to a tier. The move does not count as a try.
    mutating func moveWaiting(_ sheet: Sheet, to tier: LaterTier, reason: String?) {
        decideWaiting(sheet) { .move(of: $0, on: sheet, to: tier, reason: reason) }
    }

    /// Decides the outcomes of lines that wait.
    ///
    /// - Parameter outcomeOfLine: returns nil for a line that goes on waiting.
    private mutating func decideWaiting(_ sheet: Sheet, outcomeOfLine: (Int) -> LineOutcome?) {
        for line in 0..<sheet.lineCount where sheet.states[line].stage.isWaiting {
            guard let outcome = outcomeOfLine(line) else { continue }
            switch duplicateProgress(of: sheet, line: line) {
            case .notStarted: decide(sheet, line: line, as: outcome)
            case .done: skip(sheet, line: line)
            case .underWay: claims.block(sheet, line: line)
            }
        }
        removeIfDone(sheet)
    }

    /// Decides that APNs accepted a line's push. The outcome is written later.
    mutating func decideAccepted(_ sheet: Sheet, line: Int) {
        guard markDecided(sheet, line: line) else { return }
        sheet.unwritten.addAccepted(line)
        records.add(sheet, at: time.now)
    }

    /// Moves a line to `decided`, and settles its subject, its probe and its sheet. Returns false if the line was
    /// decided already.
    private mutating func markDecided(_ sheet: Sheet, line: Int) -> Bool {
        guard sheet.move(line, on: .decided) else { return false }
        if sheet.needsLedger {
            // A duplicate may exist, so the subject is held until the outcome is stored.
            claims.holdSubject(sheet, line: line)
        } else {
            claims.freeSubject(sheet, line: line)
        }
        endProbe(sheet, line: line, as: .tryAgainAtOnce)
        // A sheet whose lines are all decided stays in the queue of its app. The queue removes such sheets only now and
        // then, because a removal searches the whole queue.
        if sheet.undecidedLines == 0, sheet.isQueued { sheet.app.sheets.noteSheetIsOver() }
        return true
    }

    /// Ends a line without an outcome of ours, because an earlier owner or a duplicate has done its job. Its permit and
    /// its subject are freed at once. For lines with outcomes, `LineClaims.finish` does that when their record is
    /// stored.
    mutating func skip(_ sheet: Sheet, line: Int) {
        guard markDecided(sheet, line: line) else { return }
        claims.giveBackPermit(sheet, line: line)
        sheet.move(line, on: .finished)
        claims.freeSubject(sheet, line: line)
    }

    /// Leaves a line to the next owner of the lane. A start whose intent is stored needs a record that withdraws it,
    /// so that the next owner does not take the start for sent.
    mutating func leaveToNextOwner(_ sheet: Sheet, line: Int) {
        let state = sheet.states[line]
        if state.stage.isDecided { return }
        if state.reservation == .permitAndIntent { return decide(sheet, line: line, as: .released) }
        sheet.isLeftToNextOwner = true
        skip(sheet, line: line)
        removeIfDone(sheet)
    }

    /// Leaves the sheets of a lane to its next owner. Pushes that have not left are withdrawn. The others finish, and
    /// `ended` leaves them to the next owner if they are to be tried again.
    mutating func leaveSheetsToNextOwner(of lane: Lane) {
        for sheet in sheets.all where sheet.lane === lane {
            for line in 0..<sheet.lineCount {
                switch sheet.states[line].stage {
                case .unsent, .requeued, .blocked, .backingOff: leaveToNextOwner(sheet, line: line)
                case .pushing(.inFlight): actions.mustWithdrawPushes = true
                // The intent is withdrawn when it is stored (`intentIsStored`), and an overdue push waits for its late
                // answer.
                case .storingIntent, .pushing(.overdue): break
                case .decided, .recording, .done: break
                }
            }
        }
    }

    /// Leaves decided lines to the next owner of the lane, because their record must not be written.
    mutating func leaveDecidedLinesToNextOwner(_ lines: LineSet, of sheet: Sheet) {
        if !lines.isEmpty { sheet.isLeftToNextOwner = true }
        claims.finish(sheet, lines: lines)
        removeIfDone(sheet)
    }

    /// Removes a sheet whose lines are all done.
    mutating func removeIfDone(_ sheet: Sheet) {
        if sheet.unfinishedLines == 0 { sheets.remove(sheet) }
    }
}
