internal import Jobs
internal import Lifecycle

// The dispatch: the choice of the next lines, and the departure of single lines. `DispatchQueues` describes the order.
extension DeliveryPlan {
    /// Limit of requeued lines that are tried without success before the next sheet has its turn.
    private static let stuckLinesMax = 16

    /// Sends what the apps may send. The apps take turns, so that no app waits for the backlog of another.
    mutating func dispatch(by availability: AvailabilityCheck) {
        guard versions.isComplete, lanes.lease.isValid(at: time.now), !queues.apps.isEmpty else { return }
        let isAlone = queues.isOneAppAlone(at: time.now)
        for app in queues.apps { app.forgetCapacity() }
        var idleApps = 0
        while idleApps < queues.apps.count {
            let app = queues.nextApp()
            var turn = AppTurn(permits: claims.availablePermits(for: app, isAlone: isAlone))
            let hasProgress = app.hasWork && giveTurn(to: app, &turn, by: availability)
            idleApps = hasProgress ? 0 : idleApps + 1
        }
    }

    /// Queues the lines whose wait has ended.
    mutating func retryDueLines() {
        while let due = queues.takeDueRetry(at: time.now) {
            if dropIfStale(due.sheet) { continue }
            due.sheet.app.requeue(due)
        }
    }

    // MARK: Turns

    /// Gives a turn to an app. Returns whether a line had its turn.
    private mutating func giveTurn(
        to app: AppQueues, _ turn: inout AppTurn, by availability: AvailabilityCheck
    ) -> Bool {
        app.lastUsed = time.now
        var hasProgress = false
        while turn.lines < AppQueues.turnLinesMax {
            let lineCount = giveTurnToNextLines(of: app, in: &turn, by: availability)
            if lineCount == 0 { break }
            turn.lines += lineCount
            hasProgress = true
        }
        return hasProgress
    }

    /// Gives a turn to the next lines of an app. The order: lines that take another turn, then one line for the
    /// suspect connections, then the next sheet.
    ///
    /// - Returns: the number of lines that had their turn; 0 if no line can leave now. A look at a line or sheet
    ///   that is gone counts as one line.
    private mutating func giveTurnToNextLines(
        of app: AppQueues, in turn: inout AppTurn, by availability: AvailabilityCheck
    ) -> Int {
        if giveTurnToRequeuedLine(of: app, in: &turn, by: availability) { return 1 }
        if giveTurnToSuspectLine(of: app, in: &turn, by: availability) { return 1 }
        guard let (sheet, jobClass) = app.sheets.next else { return 0 }
        if app.sheets.dequeueIfAtEnd(sheet, of: jobClass) { return 1 }
        switch pushRun(of: sheet, jobClass: jobClass, in: &turn, by: availability) {
        case .pushed(let count):
            app.sheets.countPushes(count, of: jobClass)
            return count
        case .sheetChanged: return 1
        case .needsSingleChecks: break
        }
        switch giveTurn(to: sheet, line: sheet.cursor, in: &turn, by: availability) {
        case .progress:
            app.sheets.countPushes(1, of: jobClass)
            return 1
        case .setAside: return 1
        case .stuck: return 0
        }
    }

    /// Returns whether a requeued line had its turn.
    private mutating func giveTurnToRequeuedLine(
        of app: AppQueues, in turn: inout AppTurn, by availability: AvailabilityCheck
    ) -> Bool {
        for _ in 0..<Self.stuckLinesMax {
            guard let next = app.takeRequeuedLine() else { return false }
            // The line has ended while it was queued.
            if !next.isQueued { return true }
            if giveTurn(to: next.sheet, line: next.line, in: &turn, by: availability) != .stuck {
                return true
            }
            // A stuck line must not hold up the others: they may have a permit, or use other connections.
            app.requeue(next)
        }
        return false
    }

    /// Returns whether the queue for the suspect connections moved on.
    private mutating func giveTurnToSuspectLine(
        of app: AppQueues, in turn: inout AppTurn, by availability: AvailabilityCheck
    ) -> Bool {
        // `setAside` sets this time for an empty queue. A line that only comes back has not moved the queue.
        let movedAt = app.suspectsMovedAt
        guard !turn.areSuspectConnectionsFull, let next = app.takeSuspectLine() else { return false }
        if !next.isQueued { return true }
        let result = giveTurn(to: next.sheet, line: next.line, in: &turn, by: availability)
        if result == .stuck { app.putBackSuspectLine(next) }
        let hasMoved = result == .progress
        turn.areSuspectConnectionsFull = !hasMoved
        app.suspectsMovedAt = hasMoved ? time.now : movedAt
        return hasMoved
    }

    /// Gives a turn to a line: decides about it, and carries the decision out.
    private mutating func giveTurn(
        to sheet: Sheet, line: Int, in turn: inout AppTurn, by availability: AvailabilityCheck
    ) -> LineTurnResult {
        let decision = decision(for: sheet, line: line, permits: turn.permits, by: availability)
        let result = carryOut(decision, on: sheet, line: line, in: &turn)
        let state = sheet.states[line]
        // A probe that did not leave lets the next line probe.
        if state.isProbe, !state.stage.isLeavingOrInFlight { giveUpProbe(sheet, line: line) }
        return result
    }

    // MARK: Decisions

    /// Carries out the decision about a line whose turn has come.
    private mutating func carryOut(
        _ decision: LineDecision, on sheet: Sheet, line: Int, in turn: inout AppTurn
    ) -> LineTurnResult {
        switch decision {
        case .push(let isSuspect, let isProbe):
            if isProbe { beginProbe(sheet, line: line) }
            push(sheet, line: line, isSuspect: isSuspect, in: &turn)
        case .storeIntent(let startsMax, let isSuspect, let isProbe):
            sheet.setSuspect(isSuspect, for: line)
            let count = min(startsMax, turn.permits)
            guard count > 0 else { return .stuck }
            if isProbe { beginProbe(sheet, line: line) }
            storeIntents(of: sheet, from: line, atMost: count, in: &turn)
        case .setAside: return setAside(sheet, line: line)
        case .block: claims.block(sheet, line: line)
        case .stuck: return .stuck
        case .skip:
            skip(sheet, line: line)
            removeIfDone(sheet)
        case .endLine(let outcome): decide(sheet, line: line, as: outcome)
        case .endSheet(let outcome): decideWaiting(sheet, as: outcome)
        case .moveSheet(let tier, let reason): moveWaiting(sheet, to: tier, reason: reason)
        case .pauseSheet(let cause):
            let tier = sheet.app.tierWhilePaused(lane: sheet.lane.number, at: time.now)
            moveWaiting(sheet, to: tier, reason: cause)
        }
        return .progress
    }

    /// Lets a line wait for the suspect connections, or in a tier if too many lines wait for them.
    private mutating func setAside(_ sheet: Sheet, line: Int) -> LineTurnResult {
        if sheet.app.isSuspectQueueFull {
            moveSuspectLine(sheet, line: line)
            return .progress
        }
        // A start with an intent already counts as a waiting start. It waits for the suspect connections from now on.
        if sheet.states[line].reservation == .permitAndIntent { sheet.setSuspect(true, for: line) }
        sheet.app.setAside(QueuedLine(sheet: sheet, line: line), at: time.now)
        return .setAside
    }

    /// Lets the line probe the app's open breaker.
    private func beginProbe(_ sheet: Sheet, line: Int) {
        if sheet.states[line].isProbe { return }
        sheet.app.breaker.beginProbe()
        sheet.setProbe(true, for: line)
    }

    /// Lets the push of a line leave.
    private mutating func push(_ sheet: Sheet, line: Int, isSuspect: Bool, in turn: inout AppTurn) {
        turn.permits -= claims.takePermit(sheet, line: line)
        sheet.app.useCapacity(1, isSuspect: isSuspect)
        sheet.move(line, on: .pushLeft)
        sheet.setSuspect(isSuspect, for: line)
        claims.holdSubject(sheet, line: line)
        notePushesLeft(1, of: sheet)
        actions.pushes.append(DeliveryActions.Push(sheet: sheet, line: line, isSuspect: isSuspect))
    }

    /// Counts pushes that have left. If the app did not wait for APNs, its silence begins.
    func notePushesLeft(_ count: Int, of sheet: Sheet) {
        sheet.lane.pushesInFlight += count
        sheet.app.pushesInFlight += count
        sheet.app.silence.begin(at: time.now)
        sheet.hasUsedTurn = true
    }

    // MARK: Intents

    /// Stores the intents of starts in one receipt. The starts leave when it is stored.
    ///
    /// - Parameter first: a line whose checks are made.
    private mutating func storeIntents(
        of sheet: Sheet, from first: Int, atMost countMax: Int, in turn: inout AppTurn
    ) {
        let state = sheet.states[first]
        // In these cases each of the other lines would need its own checks.
        let isAlone = state.isProbe || state.isSuspect || first != sheet.cursor || sheet.needsLedger
        var remaining = isAlone ? 1 : countMax
        var lines = LineSet()
        for line in first..<sheet.lineCount where remaining > 0 {
            guard line == first || mayStoreIntent(of: sheet, line: line) else { continue }
            claims.holdSubject(sheet, line: line)
            sheet.move(line, on: .intentOrdered)
            claims.takePermit(sheet, line: line)
            lines.append(line)
            remaining -= 1
        }
        turn.permits -= lines.count
        sheet.hasUsedTurn = true
        records.order(
            .receipt([Receipt.Part(.intent, lines: sheet.originLines(of: lines))]), of: sheet, lines: lines,
            in: sheet.lane, at: time, into: &actions)
    }

    /// Returns whether an unsent line may store its intent together with the line before it.
    private mutating func mayStoreIntent(of sheet: Sheet, line: Int) -> Bool {
        let avoidsUsualConnections =
            sheet.states[line].isUnproven && sheet.app.unproven.areSuspect(at: time.now)
        return sheet.isUnsent(line) && !avoidsUsualConnections && !claims.isSubjectBusy(sheet, line: line)
            && !suspects.contains(sheet.subjects[line])
    }
}
