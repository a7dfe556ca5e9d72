internal import Jobs
internal import Lifecycle

// The end of lines and sheets. A line's end changes its stage, what it holds, and the records to be written. Lines end
// in these ways:
//
// `decide`, `accept`: the line has an outcome, which is written later.
// `skip`:             an earlier owner or a duplicate has done the job. Nothing is written.
// `abandon`:          the next owner of the lane takes over a line without an outcome.
// `leaveDecided`:     the next owner takes over lines with outcomes that must not be written.
extension DeliveryPlan {
    /// Decides the outcome of a line. The outcome is written later.
    mutating func decide(_ sheet: Sheet, line: Int, as outcome: LineOutcome) {
        guard endTurn(of: sheet, line: line) else { return }
        sheet.addOutcome(outcome, for: line)
        // The next owner reads the sheet again, so its offset stays open.
        if outcome == .released { sheet.isAbandoned = true }
        records.add(sheet, at: time.now)
    }

    /// Decides the same outcome for all lines that wait. A line whose duplicate is done is skipped. A line whose
    /// duplicate is under way waits for it.
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

    mutating func accept(_ sheet: Sheet, line: Int) {
        guard endTurn(of: sheet, line: line) else { return }
        sheet.addAccepted(line)
        records.add(sheet, at: time.now)
    }

    /// Moves a line to `decided`, and settles its subject, its probe and its sheet. Returns false if the line was
    /// decided already.
    private mutating func endTurn(of sheet: Sheet, line: Int) -> Bool {
        guard sheet.move(line, on: .decided) else { return false }
        if sheet.needsLedger {
            // A duplicate may exist, so the subject stays held until the outcome is stored.
            claims.holdSubject(sheet, line: line)
        } else {
            claims.freeSubject(sheet, line: line)
        }
        if sheet.states[line].isProbe { giveUpProbe(sheet, line: line) }
        // The app's queue removes such sheets from time to time, because a removal searches the whole queue.
        if sheet.undecidedLines == 0, sheet.isQueued { sheet.app.noteSheetIsOver() }
        return true
    }

    /// Ends a line whose job an earlier owner or a duplicate has done.
    mutating func skip(_ sheet: Sheet, line: Int) { endWithoutRecord(sheet, line: line) }

    private mutating func endWithoutRecord(_ sheet: Sheet, line: Int) {
        guard endTurn(of: sheet, line: line) else { return }
        claims.giveBackPermit(sheet, line: line)
        sheet.move(line, on: .finished)
        claims.freeSubject(sheet, line: line)
    }

    /// Leaves a line to the next owner of the lane. A start whose intent is stored needs a record that withdraws it.
    mutating func abandon(_ sheet: Sheet, line: Int) {
        let state = sheet.states[line]
        if state.stage.isDecided { return }
        if state.reservation == .permitAndIntent { return decide(sheet, line: line, as: .released) }
        sheet.isAbandoned = true
        endWithoutRecord(sheet, line: line)
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
    mutating func leaveDecided(_ sheet: Sheet, lines: LineSet) {
        if !lines.isEmpty { sheet.isAbandoned = true }
        claims.finish(sheet, lines: lines)
        removeIfDone(sheet)
    }

    mutating func removeIfDone(_ sheet: Sheet) {
        if sheet.unfinishedLines == 0 { sheets.remove(sheet) }
    }

    /// Ends a probe whose push did not leave.
    mutating func giveUpProbe(_ sheet: Sheet, line: Int) {
        sheet.setProbe(false, for: line)
        sheet.app.breaker.giveUpProbe()
    }
}

// MARK: Duplicates

/// The progress of the duplicate of a job: the same job on a second sheet.
enum DuplicateProgress {
    case notStarted
    case underWay
    case done
}

extension DeliveryPlan {
    /// Returns the progress of the duplicate of a line's job. A job has a duplicate if an earlier owner moved it to a
    /// tier and died before the receipt. Then it still lies on the first sheet.
    ///
    /// The copy that is decided first counts, as soon as its outcome is stored. The other copy waits for that.
    /// The function is mutating although it changes nothing, because otherwise each call copies the plan.
    mutating func duplicateProgress(of sheet: Sheet, line: Int) -> DuplicateProgress {
        guard sheet.needsLedger else { return .notStarted }
        if sheet.recordedProgress(of: line) == .done { return .done }
        return claims.isSubjectBusy(sheet, line: line) ? .underWay : .notStarted
    }
}
