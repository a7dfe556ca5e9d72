internal import APNs
internal import Lifecycle

// The dispatch: the choice of the lines that are next. `DispatchQueues` describes the order.
//
// The next lines of a sheet begin at its cursor. Nearly all of them leave in runs (`+Runs`). A line that needs checks
// which a run does not make is dispatched alone (`+SingleLines`), and so is every line that waits outside the order of
// its sheet.
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

    /// Requeues the lines whose time for the next try has come, unless their sheets have become stale meanwhile.
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
    /// - Returns: the number of lines that count in the turn; 0 ends the turn, because no line can leave now. A line or
    ///   sheet that is over and only leaves its queue counts as one line, so that the turn goes on.
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
        case .mustLookAgain: return 1  // Lines were dropped or skipped, and the turn goes on.
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
            // The line is requeued from now on, so `advanceCursorOrDequeue` moves the cursor past it.
            wait(QueuedLine(sheet: sheet, line: sheet.cursor), for: connections)
            return 1
        case .staysInQueue: return 0
        }
    }

    /// Dispatches requeued lines until one has left the queue. Returns whether one has.
    private mutating func dispatchNextRequeuedLine(
        of app: AppQueues, in turn: inout AppTurn, by availability: AvailabilityCheck
    ) -> Bool {
        for _ in 0..<min(Self.requeuedLinesTriedMax, app.requeuedCount) {
            guard let next = app.takeRequeuedLine() else { return false }
            // A line that was decided while it was queued only leaves the queue.
            if !next.isQueued { return true }
            switch dispatchLine(next.line, of: next.sheet, in: &turn, by: availability) {
            case .progress: return true
            case .waitsForConnections(let connections):
                wait(next, for: connections)
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
        let areKnownFull = app.capacity[connections].map { $0 <= 0 } ?? false
        guard !areKnownFull, !turn.mustSkipQueue[connections], let next = app.waitingLines[connections].first
        else { return false }
        // A line that was decided while it was queued only leaves the queue.
        if !next.isQueued {
            app.waitingLines[connections].removeFirst()
            return true
        }
        switch dispatchLine(next.line, of: next.sheet, in: &turn, by: availability) {
        case .progress:
            app.waitingLines[connections].removeFirst()
            return true
        case .waitsForConnections(let others) where others != connections:
            // More is known about its token than when it was queued.
            app.waitingLines[connections].removeFirst()
            wait(next, for: others)
            return true
        case .waitsForConnections, .staysInQueue:
            // The room that is left may be for a waiting start behind it, or for a line that has a permit.
            let hasRoom = app.capacity[connections].map { $0 > 0 } ?? false
            if hasRoom { app.waitingLines[connections].moveFirstToEnd() }
            turn.mustSkipQueue[connections] = true
            return false
        }
    }

    /// Lets a line wait for connections, or moves it to a tier: if too many lines wait for them, or if it has a permit,
    /// which other pushes of the app need. Suspect lines are so few that they keep their permits.
    private mutating func wait(_ line: QueuedLine, for connections: PushConnections) {
        let (sheet, app) = (line.sheet, line.sheet.app)
        let holdsNeededPermit =
            connections == .unproven && sheet.states[line.line].reservation != .nothing
        if holdsNeededPermit || app.waitingLines[connections].isFull {
            return moveLineWithoutRoom(sheet, line: line.line)
        }
        // A waiting start is counted by its connections (`AppQueues.waitingStarts`).
        if sheet.states[line.line].isWaitingStart { sheet.setConnections(connections, for: line.line) }
        app.waitingLines[connections].append(line, at: time.now)
    }
}
