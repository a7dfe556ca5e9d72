internal import APNs
internal import Jobs
internal import Lifecycle

// A run is a sequence of lines of one sheet that leave in one step. Checks that hold for the whole sheet are made once
// for a run. Nearly all lines leave in runs. A line that needs single checks ends the run and is dispatched alone.
extension DeliveryPlan {
    /// The result of a run.
    enum RunResult {
        /// This number of lines was pushed.
        case pushed(Int)
        /// The caller has to dispatch the line at the cursor alone, because it needs checks that a run does not make.
        case mustDispatchAlone
        /// The sheet was dropped, or lines of it were skipped. The caller has to look for the next line again.
        case mustLookAgain
    }

    /// Pushes lines from the cursor on, as many as the turn, the class of the sheet and the connections allow.
    mutating func pushRun(
        of sheet: Sheet, jobClass: JobClass, in turn: inout AppTurn, by availability: AvailabilityCheck
    ) -> RunResult {
        let app = sheet.app
        let allowsRuns = sheet.isPlain && !app.breaker.isOpen && !time.isPast(deadline: sheet.head.deadline)
        guard allowsRuns, turn.permitsLeft > 0 else { return .mustDispatchAlone }
        // Lines of such a sheet may have waited for their duplicates. Meanwhile the sheet may have become stale, or a
        // duplicate may have done a job.
        if sheet.needsLedger {
            if dropIfStale(sheet) { return .mustLookAgain }
            if sheet.comparedLedgerRevision != sheet.lane.ledger.revision {
                skipLinesDoneByDuplicates(of: sheet)
                return .mustLookAgain
            }
        }
        guard case .open(let capacity) = sheet.availabilityLeftThisStep(of: .usual, by: availability),
            capacity > 0
        else { return .mustDispatchAlone }
        sheet.ensureSubjects(seed: seed)
        let linesOfClass = app.sheets.linesBeforeOtherClass(than: jobClass)
        let countMax = min(capacity, turn.permitsLeft, linesOfClass, turn.linesLeft)
        let count = pushLines(of: sheet, atMost: countMax)
        app.useCapacity(count, of: .usual)
        turn.permitsLeft -= count
        claims.takePermits(count, for: app)
        guard count > 0 else { return .mustDispatchAlone }
        notePushesLeft(count, of: sheet)
        return .pushed(count)
    }

    /// Pushes lines from the cursor on, up to the first one that needs single checks. Returns their number.
    private mutating func pushLines(of sheet: Sheet, atMost countMax: Int) -> Int {
        let areUnprovenSeparated =
            !sheet.unprovenLines.isEmpty && sheet.app.unproven.areSeparated(at: time.now)
        var line = sheet.cursor
        var count = 0
        while line < sheet.lineCount, count < countMax {
            let state = sheet.states[line]
            if state.stage != .unsent {
                line += 1
                continue
            }
            let subject = sheet.subjects[line]
            let mayUseOtherConnections =
                (areUnprovenSeparated && state.isUnproven) || suspects.contains(subject)
            guard state.isOrdinary, !mayUseOtherConnections,
                !versions.hasNewerActivityVersion(than: sheet, line: line)
            else { break }
            let isSubjectFree = claims.holdSubject(subject)
            if !isSubjectFree { break }
            sheet.pushOrdinary(line)
            actions.pushes.append(DeliveryActions.Push(sheet: sheet, line: line, connections: .usual))
            count += 1
            line += 1
        }
        sheet.cursor = line
        return count
    }
}
