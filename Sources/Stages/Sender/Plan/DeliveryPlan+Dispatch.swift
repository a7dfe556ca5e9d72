internal import APNs
internal import Jobs
internal import Lifecycle

// The dispatch: the choice of the next lines, and the departure of single lines. To dispatch a line means to decide
// whether it leaves now (`LineDecision`), and to carry the decision out. `DispatchQueues` describes the order.
extension DeliveryPlan {
    /// Limit of requeued lines that are tried in succession. If none of them can leave, other lines of the app are
    /// next.
    private static let requeuedLinesTriedMax = 16

    /// Dispatches the lines of all apps that may leave now. The apps take turns, so that no app waits for the backlog
    /// of another. The dispatch ends when all apps in succession had a turn without progress.
    mutating func dispatch(by availability: AvailabilityCheck) {
        guard versions.isComplete, lanes.lease.isValid(at: time.now), !queues.apps.isEmpty else { return }
        // The connections are asked again in each step.
        for app in queues.apps { app.capacity = ByConnections(repeating: nil) }
        // An app that is alone may take all free permits, and otherwise only its share.
        let isAlone = queues.isOneAppAlone(at: time.now)
        var turnsWithoutProgress = 0
        while turnsWithoutProgress < queues.apps.count {
            let hasProgress = runTurn(of: queues.nextApp(), isAlone: isAlone, by: availability)
            turnsWithoutProgress = hasProgress ? 0 : turnsWithoutProgress + 1
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

    /// Runs the turn of an app. Returns whether a line was dispatched, so that another turn makes sense.
    private mutating func runTurn(
        of app: AppQueues, isAlone: Bool, by availability: AvailabilityCheck
    ) -> Bool {
        guard app.hasWork else { return false }
        app.lastUsed = time.now
        var turn = AppTurn(permitsLeft: claims.availablePermits(for: app, isAlone: isAlone))
        while turn.linesLeft > 0 {
            let lineCount = dispatchNextLines(of: app, in: &turn, by: availability)
            if lineCount == 0 { break }
            turn.linesLeft -= lineCount
        }
        return turn.hasProgress
    }

    /// Dispatches the next lines of an app: a requeued line, or else a line that waits for the unproven or the suspect
    /// connections, or else lines of the next sheet.
    ///
    /// - Returns: the number of lines; 0 if no line can leave now. If a line or sheet was decided while it was queued,
    ///   its removal from the queue counts as one line, so that the turn goes on.
    private mutating func dispatchNextLines(
        of app: AppQueues, in turn: inout AppTurn, by availability: AvailabilityCheck
    ) -> Int {
        if dispatchNextRequeuedLine(of: app, in: &turn, by: availability) { return 1 }
        if dispatchNextLine(waitingFor: .unproven, of: app, in: &turn, by: availability) { return 1 }
        if dispatchNextLine(waitingFor: .suspect, of: app, in: &turn, by: availability) { return 1 }
        guard let (sheet, jobClass) = app.sheets.next else { return 0 }
        if app.sheets.advanceCursorOrDequeue(sheet, of: jobClass) == .dequeued { return 1 }
        switch pushRun(of: sheet, jobClass: jobClass, in: &turn, by: availability) {
        case .pushed(let count):
            app.sheets.countDispatched(count, of: jobClass)
            return count
        case .mustLookAgain: return 1
        case .mustDispatchAlone:
            return dispatchLineAtCursor(of: sheet, jobClass: jobClass, in: &turn, by: availability)
        }
    }

    /// Dispatches the line at a sheet's cursor. Returns the number of lines: 1, or 0 if the line cannot leave now.
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
        case .staysInQueue: return 0
        }
    }

    /// Dispatches requeued lines until one has left their queue. Returns whether one has.
    private mutating func dispatchNextRequeuedLine(
        of app: AppQueues, in turn: inout AppTurn, by availability: AvailabilityCheck
    ) -> Bool {
        for _ in 0..<min(Self.requeuedLinesTriedMax, app.requeuedCount) {
            guard let next = app.takeRequeuedLine() else { return false }
            // The line was decided while it was queued.
            if !next.isQueued { return true }
            switch dispatchLine(next.line, of: next.sheet, in: &turn, by: availability) {
            case .progress: return true
            case .waitsForConnections(let connections):
                app.queue(next, for: connections, at: time.now)
                return true
            case .staysInQueue:
                // It goes to the end of the queue, so that it does not hold up lines that can leave.
                app.requeue(next)
            }
        }
        return false
    }

    /// Dispatches the next line that waits for these connections. Returns whether it has left their queue.
    private mutating func dispatchNextLine(
        waitingFor connections: PushConnections, of app: AppQueues, in turn: inout AppTurn,
        by availability: AvailabilityCheck
    ) -> Bool {
        guard !turn.mustSkipQueue[connections], let next = app.takeLine(waitingFor: connections)
        else { return false }
        // The line was decided while it was queued.
        if !next.isQueued { return true }
        switch dispatchLine(next.line, of: next.sheet, in: &turn, by: availability) {
        case .progress:
            app.noteQueueMoved(of: connections, at: time.now)
            return true
        case .waitsForConnections(let others) where others != connections:
            // More is known about its token than when it was queued.
            app.queue(next, for: others, at: time.now)
            return true
        case .waitsForConnections, .staysInQueue:
            app.putBack(next, waitingFor: connections)
            turn.mustSkipQueue[connections] = true
            return false
        }
    }

    // MARK: Single lines

    /// Dispatches a line: decides about it, and carries the decision out.
    private mutating func dispatchLine(
        _ line: Int, of sheet: Sheet, in turn: inout AppTurn, by availability: AvailabilityCheck
    ) -> DispatchResult {
        let decision = decision(for: sheet, line: line, permits: turn.permitsLeft, by: availability)
        let result = carryOut(decision, on: sheet, line: line, in: &turn)
        // If the line was the probe, and has neither left nor ordered its intent, the next line may probe at once.
        if !sheet.states[line].stage.isLeavingOrInFlight { endProbe(sheet, line: line, as: .tryAgainAtOnce) }
        return result
    }

    /// Carries out the decision about a line. Returns the effect on the queue of the line.
    private mutating func carryOut(
        _ decision: LineDecision, on sheet: Sheet, line: Int, in turn: inout AppTurn
    ) -> DispatchResult {
        switch decision {
        case .push(let connections, let isProbe):
            if isProbe { beginProbe(sheet, line: line) }
            push(sheet, line: line, over: connections, in: &turn)
        case .storeIntent(let startsMax, let connections, let isProbe):
            // A waiting start is counted by its connections (`AppQueues.waitingStarts`), so they are set first.
            sheet.setConnections(connections, for: line)
            if isProbe { beginProbe(sheet, line: line) }
            storeIntents(of: sheet, from: line, atMost: min(startsMax, turn.permitsLeft), in: &turn)
        case .waitForConnections(let connections): return wait(for: connections, sheet, line: line)
        case .block: claims.block(sheet, line: line)
        case .stayInQueue: return .staysInQueue
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

    /// Lets a line wait for connections, or moves it to a tier if too many lines wait for them.
    private mutating func wait(
        for connections: PushConnections, _ sheet: Sheet, line: Int
    ) -> DispatchResult {
        if sheet.app.isQueueFull(of: connections) {
            moveLineWithoutRoom(sheet, line: line)
            return .progress
        }
        // A waiting start, whose intent is stored, is counted by its connections (`AppQueues.waitingStarts`).
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
        turn.permitsLeft -= claims.takePermit(sheet, line: line)
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

    /// Stores the intents of starts in one receipt: of the first start, and of later starts of its sheet that may leave
    /// with it. They leave when the receipt is stored.
    ///
    /// - Parameter first: the line that `decision` has checked.
    private mutating func storeIntents(
        of sheet: Sheet, from first: Int, atMost countMax: Int, in turn: inout AppTurn
    ) {
        // A start without a stored intent holds no permit. `decision` orders an intent only if the line can take a new
        // permit and there is room on the connections for it.
        precondition(countMax > 0, "a start stores its intent without a permit or without room")
        var intentsLeft = sheet.mustStoreIntentAlone(of: first) ? 1 : countMax
        var lines = LineSet()
        for line in first..<sheet.lineCount where intentsLeft > 0 {
            guard line == first || mayStoreIntentWithFirst(sheet, line: line) else { continue }
            turn.permitsLeft -= claims.takePermit(sheet, line: line)
            sheet.move(line, on: .intentOrdered)
            claims.holdSubject(sheet, line: line)
            lines.append(line)
            intentsLeft -= 1
        }
        sheet.hasUsedTurn = true
        records.order(
            .receipt([Receipt.Part(.intent, lines: sheet.originLines(of: lines))]), of: sheet, lines: lines,
            in: sheet.lane, at: time, into: &actions)
    }

    /// Returns whether a later line is unsent and may store its intent with the first one. Two checks are not needed:
    /// erased lines of queued sheets are dropped at once, and no newer version of an activity replaces a start.
    private mutating func mayStoreIntentWithFirst(_ sheet: Sheet, line: Int) -> Bool {
        let avoidsUsualConnections =
            sheet.states[line].isUnproven && sheet.app.unproven.areSeparated(at: time.now)
        return sheet.isUnsent(line) && !avoidsUsualConnections && !claims.isSubjectBusy(sheet, line: line)
            && !suspects.contains(sheet.subjects[line])
    }
}

extension Sheet {
    /// Returns whether the intent of a start needs a receipt of its own. Otherwise intents of later lines join it.
    fileprivate func mustStoreIntentAlone(of line: Int) -> Bool {
        // Only one push may probe.
        if states[line].isProbe { return true }
        // The later lines use the usual connections.
        if states[line].connections != .usual { return true }
        // A requeued line leaves outside the order of its sheet.
        if line != cursor { return true }
        // A later line may have a duplicate, which `mayStoreIntentWithFirst` does not check.
        return needsLedger
    }
}
