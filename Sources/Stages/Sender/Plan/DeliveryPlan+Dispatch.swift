internal import APNs
internal import Jobs
internal import Lifecycle

// The dispatch: the choice of the next lines, and the departure of single lines. To dispatch a line means to decide
// whether it leaves now (`LineDecision`), and to carry the decision out. `DispatchQueues` describes the order.
extension DeliveryPlan {
    /// Limit of requeued lines that are dispatched without success before the other lines of the app.
    private static let stuckLinesMax = 16

    /// Dispatches the lines of all apps that may leave now. The apps take turns, so that no app waits for the backlog
    /// of another.
    mutating func dispatch(by availability: AvailabilityCheck) {
        guard versions.isComplete, lanes.lease.isValid(at: time.now), !queues.apps.isEmpty else { return }
        let isAlone = queues.isOneAppAlone(at: time.now)
        for app in queues.apps { app.capacity = ByConnections(repeating: nil) }
        var idleInSuccession = 0
        while idleInSuccession < queues.apps.count {
            let app = queues.nextApp()
            var hasProgress = false
            if app.hasWork {
                var turn = AppTurn(permits: claims.availablePermits(for: app, isAlone: isAlone))
                hasProgress = runTurn(&turn, of: app, by: availability)
            }
            idleInSuccession = hasProgress ? 0 : idleInSuccession + 1
        }
    }

    /// Queues the lines whose wait has ended.
    mutating func retryDueLines() {
        while let due = queues.takeDueRetry(at: time.now) {
            if dropIfStale(due.sheet) { continue }
            due.sheet.app.requeue(due)
        }
    }

    // MARK: Turns of apps

    /// Runs the turn of an app. Returns whether anything moved, so that another turn makes sense.
    private mutating func runTurn(
        _ turn: inout AppTurn, of app: AppQueues, by availability: AvailabilityCheck
    ) -> Bool {
        app.lastUsed = time.now
        var hasProgress = false
        while turn.lines < AppQueues.turnLinesMax {
            let lineCount = dispatchNextLines(of: app, in: &turn, by: availability)
            if lineCount == 0 { break }
            turn.lines += lineCount
            hasProgress = true
        }
        return hasProgress
    }

    /// Dispatches the next lines of an app. The order: requeued lines, then one line that waits for the unproven or for
    /// the suspect connections, then lines of the next sheet.
    ///
    /// - Returns: the number of lines; 0 if no line can leave now. A line or sheet that has ended in its queue counts
    ///   as one line.
    private mutating func dispatchNextLines(
        of app: AppQueues, in turn: inout AppTurn, by availability: AvailabilityCheck
    ) -> Int {
        if dispatchRequeuedLine(of: app, in: &turn, by: availability) { return 1 }
        if dispatchLine(waitingFor: .unproven, of: app, in: &turn, by: availability) { return 1 }
        if dispatchLine(waitingFor: .suspect, of: app, in: &turn, by: availability) { return 1 }
        guard let (sheet, jobClass) = app.sheets.next else { return 0 }
        if app.sheets.advanceCursorOrDequeue(sheet, of: jobClass) == .dequeued { return 1 }
        switch pushRun(of: sheet, jobClass: jobClass, in: &turn, by: availability) {
        case .pushed(let count):
            app.sheets.countDispatched(count, of: jobClass)
            return count
        case .sheetChanged: return 1
        case .needsSingleChecks:
            return dispatchLineAtCursor(of: sheet, jobClass: jobClass, in: &turn, by: availability)
        }
    }

    /// Dispatches the line at a sheet's cursor. Returns the number of lines: 1, or 0 if it is stuck.
    private mutating func dispatchLineAtCursor(
        of sheet: Sheet, jobClass: JobClass, in turn: inout AppTurn, by availability: AvailabilityCheck
    ) -> Int {
        switch dispatchLine(sheet.cursor, of: sheet, in: &turn, by: availability) {
        case .progress:
            sheet.app.sheets.countDispatched(1, of: jobClass)
            return 1
        case .waitsForConnections(let connections):
            sheet.app.queue(QueuedLine(sheet: sheet, line: sheet.cursor), for: connections, at: time.now)
            return 1
        case .stuck: return 0
        }
    }

    /// Dispatches the next requeued line that is not stuck. Returns whether it found one.
    private mutating func dispatchRequeuedLine(
        of app: AppQueues, in turn: inout AppTurn, by availability: AvailabilityCheck
    ) -> Bool {
        for _ in 0..<min(Self.stuckLinesMax, app.requeuedCount) {
            guard let next = app.takeRequeuedLine() else { return false }
            // The line has ended while it was queued.
            if !next.isQueued { return true }
            switch dispatchLine(next.line, of: next.sheet, in: &turn, by: availability) {
            case .progress: return true
            case .waitsForConnections(let connections):
                app.queue(next, for: connections, at: time.now)
                return true
            case .stuck:
                // A stuck line must not hold up the others, which may leave (`DispatchResult.stuck`).
                app.requeue(next)
            }
        }
        return false
    }

    /// Dispatches the next line that waits for these connections. Returns whether their queue moved on.
    private mutating func dispatchLine(
        waitingFor connections: PushConnections, of app: AppQueues, in turn: inout AppTurn,
        by availability: AvailabilityCheck
    ) -> Bool {
        guard !turn.mustSkipLinesWaiting[connections], let next = app.takeLine(waitingFor: connections)
        else { return false }
        // The line has ended while it was queued.
        if !next.isQueued { return true }
        switch dispatchLine(next.line, of: next.sheet, in: &turn, by: availability) {
        case .progress:
            app.noteQueueMoved(of: connections, at: time.now)
            return true
        case .waitsForConnections(let others) where others != connections:
            app.queue(next, for: others, at: time.now)
            return true
        case .waitsForConnections, .stuck:
            app.putBack(next, waitingFor: connections)
            turn.mustSkipLinesWaiting[connections] = true
            return false
        }
    }

    // MARK: Single lines

    /// Dispatches a line: decides about it, and carries the decision out.
    private mutating func dispatchLine(
        _ line: Int, of sheet: Sheet, in turn: inout AppTurn, by availability: AvailabilityCheck
    ) -> DispatchResult {
        let decision = decision(for: sheet, line: line, permits: turn.permits, by: availability)
        let result = carryOut(decision, on: sheet, line: line, in: &turn)
        // A probe that neither left nor stores its intent lets the next line probe.
        if !sheet.states[line].stage.isLeavingOrInFlight { endProbe(sheet, line: line, as: .tryAgainAtOnce) }
        return result
    }

    private mutating func carryOut(
        _ decision: LineDecision, on sheet: Sheet, line: Int, in turn: inout AppTurn
    ) -> DispatchResult {
        switch decision {
        case .push(let connections, let isProbe):
            if isProbe { beginProbe(sheet, line: line) }
            push(sheet, line: line, over: connections, in: &turn)
        case .storeIntent(let startsMax, let connections, let isProbe):
            // The waiting starts are counted by their connections.
            sheet.setConnections(connections, for: line)
            if isProbe { beginProbe(sheet, line: line) }
            storeIntents(of: sheet, from: line, atMost: min(startsMax, turn.permits), in: &turn)
        case .waitForConnections(let connections): return wait(for: connections, sheet, line: line)
        case .block: claims.block(sheet, line: line)
        case .stuck: return .stuck
        case .skip:
            skip(sheet, line: line)
            removeIfDone(sheet)
        case .endLine(let outcome): decide(sheet, line: line, as: outcome)
        case .endSheet(let outcome): decideWaiting(sheet, as: outcome)
        case .moveSheet(let tier, let reason): moveWaiting(sheet, to: tier, reason: reason)
        case .pauseSheet(let reason):
            let tier = sheet.app.takeTierWhilePaused(lane: sheet.lane.number, at: time.now)
            moveWaiting(sheet, to: tier, reason: reason)
        }
        return .progress
    }

    /// Lets a line wait for connections, or in a tier if too many lines wait for them.
    private mutating func wait(
        for connections: PushConnections, _ sheet: Sheet, line: Int
    ) -> DispatchResult {
        if sheet.app.isQueueFull(of: connections) {
            moveLineWithoutRoom(sheet, line: line)
            return .progress
        }
        // A start with an intent counts as a waiting start. Its count moves to these connections.
        if sheet.states[line].reservation == .permitAndIntent { sheet.setConnections(connections, for: line) }
        return .waitsForConnections(connections)
    }

    /// Lets the line probe the app's open breaker, unless it does already.
    private func beginProbe(_ sheet: Sheet, line: Int) {
        if sheet.states[line].isProbe { return }
        sheet.app.breaker.beginProbe()
        sheet.setProbe(true, for: line)
    }

    /// Lets the push of a line leave.
    private mutating func push(
        _ sheet: Sheet, line: Int, over connections: PushConnections, in turn: inout AppTurn
    ) {
        turn.permits -= claims.takePermit(sheet, line: line)
        sheet.move(line, on: .pushLeft)
        claims.holdSubject(sheet, line: line)
        sheet.setConnections(connections, for: line)
        sheet.app.useCapacity(1, of: connections)
        notePushesLeft(1, of: sheet)
        actions.pushes.append(DeliveryActions.Push(sheet: sheet, line: line, connections: connections))
    }

    /// Counts pushes that have left. If the app did not wait for APNs, its wait begins.
    func notePushesLeft(_ count: Int, of sheet: Sheet) {
        sheet.lane.pushesInFlight += count
        sheet.app.pushesInFlight += count
        sheet.app.silence.startWaiting(at: time.now)
        sheet.hasUsedTurn = true
    }

    // MARK: Intents

    /// Stores the intents of starts in one receipt. The starts leave when it is stored.
    ///
    /// - Parameter first: the line that `decision` has checked. Lines after it may join its receipt.
    private mutating func storeIntents(
        of sheet: Sheet, from first: Int, atMost countMax: Int, in turn: inout AppTurn
    ) {
        // A start without a stored intent holds no permit. `decision` orders an intent only if the line can take a new
        // permit and there is room on the connections for it.
        precondition(countMax > 0, "a start stores its intent without a permit or without room")
        let state = sheet.states[first]
        let mustStoreAlone =
            // Only one push may probe.
            state.isProbe
            // The others use the usual connections.
            || state.connections != .usual
            // The line was requeued, and the others leave in the order of their sheet.
            || first != sheet.cursor
            // Each line may have a duplicate, which `mayStoreIntentWithFirst` does not check.
            || sheet.needsLedger
        var remaining = mustStoreAlone ? 1 : countMax
        var lines = LineSet()
        for line in first..<sheet.lineCount where remaining > 0 {
            guard line == first || mayStoreIntentWithFirst(sheet, line: line) else { continue }
            turn.permits -= claims.takePermit(sheet, line: line)
            sheet.move(line, on: .intentOrdered)
            claims.holdSubject(sheet, line: line)
            lines.append(line)
            remaining -= 1
        }
        sheet.hasUsedTurn = true
        records.order(
            .receipt([Receipt.Part(.intent, lines: sheet.originLines(of: lines))]), of: sheet, lines: lines,
            in: sheet.lane, at: time, into: &actions)
    }

    /// Returns whether an unsent line may store its intent together with the first one. It cannot be erased or
    /// outdated: erased lines of queued sheets are dropped at once, and starts have no newer version.
    private mutating func mayStoreIntentWithFirst(_ sheet: Sheet, line: Int) -> Bool {
        let avoidsUsualConnections =
            sheet.states[line].isUnproven && sheet.app.unproven.areSuspect(at: time.now)
        return sheet.isUnsent(line) && !avoidsUsualConnections && !claims.isSubjectBusy(sheet, line: line)
            && !suspects.contains(sheet.subjects[line])
    }
}
