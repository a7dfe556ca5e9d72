internal import Lifecycle
internal import LiveActivity

// The choice of the next push.
extension DeliveryPlan {
    /// Limit of requeued lines that are tried without success before the next sheet has its turn.
    private static let requeuedTriesMax = 16

    /// Limits and counts of one app's turn.
    private struct AppTurn {
        /// New permits that the app may take.
        var permits: Int
        var lines = 0
        /// Whether the suspect connections are full.
        var areSuspectsFull = false
    }

    /// The result for a line whose turn has come.
    private enum Service {
        case served
        /// The line waits for the suspect connections. Other lines continue.
        case setAside
        /// Neither this line nor another line of its kind can leave now.
        case stuck
    }

    /// Sends what the apps may send. The apps take turns, so that no app waits for the backlog of another.
    mutating func dispatch(by availability: (Sheet, _ isSuspect: Bool) -> PushAvailability) {
        guard versions.isComplete, lanes.lease.isValid(at: time.now), !queues.apps.isEmpty else { return }
        let isAlone = queues.isOneAppAlone(at: time.now)
        for app in queues.apps { app.forgetCapacity() }
        var idle = 0
        while idle < queues.apps.count {
            let app = queues.nextApp()
            var turn = AppTurn(permits: claims.permitsFor(app, isAlone: isAlone))
            idle = app.hasWork && serve(app, &turn, by: availability) ? 0 : idle + 1
        }
    }

    /// Queues the lines whose wait has ended.
    mutating func retryDueLines() {
        while let due = queues.takeDueRetry(at: time.now) {
            if dropIfStale(due.sheet) { continue }
            due.sheet.app.requeue(due)
        }
    }

    /// Returns whether a line was served.
    private mutating func serve(
        _ app: AppQueues, _ turn: inout AppTurn,
        by availability: (Sheet, _ isSuspect: Bool) -> PushAvailability
    ) -> Bool {
        app.lastUsed = time.now
        var hasServed = false
        while turn.lines < AppQueues.turnLinesMax {
            guard serveNext(of: app, &turn, by: availability) == .served else { break }
            turn.lines += 1
            hasServed = true
        }
        return hasServed
    }

    private mutating func serveNext(
        of app: AppQueues, _ turn: inout AppTurn,
        by availability: (Sheet, _ isSuspect: Bool) -> PushAvailability
    ) -> Service {
        for _ in 0..<Self.requeuedTriesMax {
            guard let next = app.takeRequeued() else { break }
            if !next.isQueued { return .served }
            if serve(next.sheet, line: next.line, in: &turn, by: availability) != .stuck { return .served }
            // A stuck line must not hold up the others: they may have a permit, or use other connections.
            app.requeue(next)
        }
        if serveSuspect(of: app, in: &turn, by: availability) { return .served }
        guard let (sheet, isUsual) = app.next else { return .stuck }
        while sheet.cursor < sheet.lineCount, !sheet.isUnsent(sheet.cursor) { sheet.cursor += 1 }
        if sheet.isOver || sheet.cursor == sheet.lineCount {
            if !sheet.isOver, sheet.passedOver > 0 {
                app.putBack(isUsual: isUsual)
            } else {
                app.dequeue(isUsual: isUsual)
            }
            return .served
        }
        guard let count = pushRun(of: sheet, isUsual: isUsual, in: &turn, by: availability) else {
            return .served
        }
        if count > 0 {
            // The caller adds one itself.
            turn.lines += count - 1
            app.pushed(count, isUsual: isUsual)
            return .served
        }
        let service = serve(sheet, line: sheet.cursor, in: &turn, by: availability)
        if service == .setAside { return .served }
        if service == .served { app.pushed(1, isUsual: isUsual) }
        return service
    }

    /// Serves a line that was set aside. Returns whether it left.
    private mutating func serveSuspect(
        of app: AppQueues, in turn: inout AppTurn,
        by availability: (Sheet, _ isSuspect: Bool) -> PushAvailability
    ) -> Bool {
        let lastLeft = app.lastSuspectLeft
        guard !turn.areSuspectsFull, let next = app.takeSuspect() else { return false }
        if !next.isQueued { return true }
        let service = serve(next.sheet, line: next.line, in: &turn, by: availability)
        if service == .stuck { app.putBackSuspect(next) }
        turn.areSuspectsFull = service != .served
        app.lastSuspectLeft = service == .served ? time.now : lastLeft
        return service == .served
    }

    private mutating func serve(
        _ sheet: Sheet, line: Int, in turn: inout AppTurn,
        by availability: (Sheet, _ isSuspect: Bool) -> PushAvailability
    ) -> Service {
        let decision = decision(for: sheet, line: line, permits: turn.permits, by: availability)
        let service = carryOut(decision, on: sheet, line: line, in: &turn)
        let state = sheet.states[line]
        switch state.stage {
        case .pushing(.inFlight), .storingIntent: break
        case .unsent, .requeued, .blocked, .backingOff, .pushing(.overdue), .decided, .recording, .done:
            if state.isProbe { giveUpProbe(sheet, line: line) }
        }
        return service
    }

    private mutating func carryOut(
        _ decision: LineDecision, on sheet: Sheet, line: Int, in turn: inout AppTurn
    ) -> Service {
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
        case .setAside:
            if sheet.app.areSuspectsFull {
                moveSuspect(sheet, line: line)
                return .served
            }
            if sheet.states[line].reserved == .permitAndIntent { sheet.setSuspect(true, for: line) }
            sheet.app.setAside(QueuedLine(sheet: sheet, line: line), at: time.now)
            return .setAside
        case .block: claims.block(sheet, line: line)
        case .stuck: return .stuck
        case .skip:
            skip(sheet, line: line)
            removeIfDone(sheet)
        case .endLine(let outcome): decide(sheet, line: line, as: outcome)
        case .endSheet(let outcome): decideWaiting(sheet, as: outcome)
        case .pauseSheet(let cause):
            // The move to a tier does not count as a try.
            let tier = sheet.app.tierWhilePaused(lane: sheet.lane.number, at: time.now)
            decideWaiting(sheet, as: .later(tier, tries: sheet.tries, status: nil, reason: cause))
        }
        return .served
    }

    private func beginProbe(_ sheet: Sheet, line: Int) {
        if sheet.states[line].isProbe { return }
        sheet.app.breaker.beginProbe()
        sheet.setProbe(true, for: line)
    }

    private mutating func push(_ sheet: Sheet, line: Int, isSuspect: Bool, in turn: inout AppTurn) {
        turn.permits -= claims.takePermit(sheet, line: line)
        sheet.app.useCapacity(1, isSuspect: isSuspect)
        sheet.move(line, on: .pushLeft)
        sheet.setSuspect(isSuspect, for: line)
        claims.holdSubject(sheet, line: line)
        countPushes(1, of: sheet)
        actions.pushes.append(DeliveryActions.Push(sheet: sheet, line: line, isSuspect: isSuspect))
    }

    private func countPushes(_ count: Int, of sheet: Sheet) {
        sheet.lane.pushesInFlight += count
        sheet.app.pushesInFlight += count
        sheet.app.silence.begin(at: time.now)
        sheet.isBegun = true
    }

    /// Stores the intents of starts, so that the starts may leave.
    private mutating func storeIntents(
        of sheet: Sheet, from first: Int, atMost most: Int, in turn: inout AppTurn
    ) {
        let state = sheet.states[first]
        // Each of the other lines would need its own checks.
        let isSingle = state.isProbe || state.isSuspect || first != sheet.cursor || sheet.needsLedger
        var lines = LineSet()
        var left = isSingle ? 1 : most
        for line in first..<sheet.lineCount where left > 0 {
            guard line == first || mayStoreIntent(of: sheet, line: line) else { continue }
            claims.holdSubject(sheet, line: line)
            sheet.move(line, on: .intentOrdered)
            claims.takePermit(sheet, line: line)
            lines.append(line)
            left -= 1
        }
        turn.permits -= lines.count
        sheet.isBegun = true
        records.order(
            .receipt([Receipt.Part(.intent, lines: sheet.originLines(of: lines))]), of: sheet, lines: lines,
            in: sheet.lane, at: time, into: &actions)
    }

    private mutating func mayStoreIntent(of sheet: Sheet, line: Int) -> Bool {
        sheet.isUnsent(line) && !claims.isSubjectBusy(sheet, line: line)
            && !suspects.contains(sheet.subjects[line])
    }
}

// MARK: Runs

// Nearly all lines need no single checks. They leave many at a time, and checks that hold for the whole sheet
// are made once. A line that needs a single check ends the run and is served alone.
extension DeliveryPlan {
    /// Pushes lines from the cursor on.
    ///
    /// - Returns: the number of pushed lines; 0 if the line at the cursor has to be served alone; nil if the
    ///   sheet has changed and must be checked again.
    private mutating func pushRun(
        of sheet: Sheet, isUsual: Bool, in turn: inout AppTurn,
        by availability: (Sheet, _ isSuspect: Bool) -> PushAvailability
    ) -> Int? {
        let app = sheet.app
        guard sheet.isPlain, !app.breaker.isOpen, !time.isPast(deadline: sheet.head.deadline),
            turn.permits > 0
        else { return 0 }
        if sheet.needsLedger {
            if dropIfStale(sheet) { return nil }
            if sheet.ledgerRevision != sheet.lane.ledger.revision {
                takeOverNews(of: sheet)
                return nil
            }
        }
        guard case .open(let capacity) = sheet.availabilityInTurn(isSuspect: false, by: availability),
            capacity > 0
        else { return 0 }
        sheet.nameSubjects(seed: seed)
        let share = app.linesBeforeOtherClass(isUsual: isUsual)
        let most = min(capacity, turn.permits, share, AppQueues.turnLinesMax - turn.lines)
        let count = pushLines(of: sheet, atMost: most)
        app.useCapacity(count, isSuspect: false)
        turn.permits -= count
        claims.takePermits(count, for: app)
        if count > 0 { countPushes(count, of: sheet) }
        return count
    }

    private mutating func pushLines(of sheet: Sheet, atMost most: Int) -> Int {
        var line = sheet.cursor
        var count = 0
        while line < sheet.lineCount, count < most {
            let state = sheet.states[line]
            if state.stage != .unsent {
                line += 1
                continue
            }
            let subject = sheet.subjects[line]
            guard state.isOrdinary, !suspects.contains(subject), !versions.isOutdated(sheet, line: line),
                claims.holdSubject(subject)
            else { break }
            sheet.pushOrdinary(line)
            actions.pushes.append(DeliveryActions.Push(sheet: sheet, line: line, isSuspect: false))
            count += 1
            line += 1
        }
        sheet.cursor = line
        return count
    }
}
