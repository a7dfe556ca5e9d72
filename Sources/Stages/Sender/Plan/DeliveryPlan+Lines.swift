internal import Lifecycle
internal import LiveActivity

// The end of lines and sheets. A line's end changes its stage, what it holds, and the records to be written.
extension DeliveryPlan {
    /// Decides the outcome of a line in this process. The outcome is written later.
    mutating func decide(_ sheet: Sheet, line: Int, as outcome: LineOutcome) {
        guard moveToDecided(sheet, line: line) else { return }
        sheet.add(outcome, for: line)
        if outcome == .released { sheet.isAbandoned = true }
        records.add(sheet, at: time.now)
    }

    /// Decides the same outcome for all lines that have not left and are not about to leave.
    mutating func decideWaiting(_ sheet: Sheet, as outcome: LineOutcome) {
        for line in 0..<sheet.lineCount where sheet.states[line].stage.isWaiting {
            switch duplicateProgress(of: sheet, line: line) {
            case .notStarted: decide(sheet, line: line, as: outcome)
            case .done: skip(sheet, line: line)
            case .underWay: claims.block(sheet, line: line)
            }
        }
        removeIfDone(sheet)
    }

    /// The progress of another copy of a line's job.
    enum DuplicateProgress {
        case notStarted
        case underWay
        case done
    }

    /// Returns whether a duplicate has done the line's job, or is about to. The same job may be on two sheets:
    /// an earlier owner may have moved it to a tier and then died, so that it still lies on the first sheet.
    /// The duplicate that is decided first counts, once its outcome is stored. The other one waits for that.
    mutating func duplicateProgress(of sheet: Sheet, line: Int) -> DuplicateProgress {
        guard sheet.needsLedger else { return .notStarted }
        if sheet.recordedProgress(of: line) == .done { return .done }
        return claims.isSubjectBusy(sheet, line: line) ? .underWay : .notStarted
    }

    mutating func accept(_ sheet: Sheet, line: Int) {
        guard moveToDecided(sheet, line: line) else { return }
        sheet.addAccepted(line)
        records.add(sheet, at: time.now)
    }

    private mutating func moveToDecided(_ sheet: Sheet, line: Int) -> Bool {
        guard sheet.move(line, on: .decided) else { return false }
        if sheet.needsLedger {
            // The subject stays held until the outcome is stored.
            claims.holdSubject(sheet, line: line)
        } else {
            claims.freeSubject(sheet, line: line)
        }
        if sheet.states[line].isProbe { giveUpProbe(sheet, line: line) }
        if sheet.undecided == 0, sheet.isQueued { sheet.app.sheetIsOver() }
        return true
    }

    /// Ends a line without a record, because an earlier owner or a duplicate has done its job.
    mutating func skip(_ sheet: Sheet, line: Int) {
        guard moveToDecided(sheet, line: line) else { return }
        claims.givePermit(sheet, line: line)
        sheet.move(line, on: .finished)
        claims.freeSubject(sheet, line: line)
    }

    /// Leaves a line to the next owner of the lane.
    mutating func abandon(_ sheet: Sheet, line: Int) {
        let state = sheet.states[line]
        if state.stage.isDecided { return }
        if state.reserved == .permitAndIntent { return decide(sheet, line: line, as: .released) }
        sheet.isAbandoned = true
        skip(sheet, line: line)
    }

    /// Leaves the sheets of a lane to its next owner. Pushes in flight finish.
    mutating func abandonSheets(of lane: Lane) {
        for sheet in sheets.all where sheet.lane === lane {
            for line in 0..<sheet.lineCount {
                switch sheet.states[line].stage {
                case .unsent, .requeued, .blocked, .backingOff: abandon(sheet, line: line)
                case .pushing(.inFlight): actions.withdrawals.append(sheet.tag(of: line))
                case .storingIntent, .pushing(.overdue), .decided, .recording, .done: break
                }
            }
            removeIfDone(sheet)
        }
    }

    /// Leaves decided lines to the next owner of the lane, because their record must not be written.
    mutating func forget(_ sheet: Sheet, lines: LineSet) {
        if !lines.isEmpty { sheet.isAbandoned = true }
        claims.finish(sheet, lines: lines)
        removeIfDone(sheet)
    }

    mutating func removeIfDone(_ sheet: Sheet) {
        if sheet.unfinished == 0 { sheets.remove(sheet) }
    }

    /// Ends a probe whose push did not leave.
    mutating func giveUpProbe(_ sheet: Sheet, line: Int) {
        sheet.setProbe(false, for: line)
        sheet.app.breaker.gaveUpProbe()
    }
}
