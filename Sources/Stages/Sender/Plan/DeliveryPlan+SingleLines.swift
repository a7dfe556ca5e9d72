internal import APNs
internal import Lifecycle

// The dispatch of a single line: `LineDecision` decides whether the line leaves now, and this file carries the decision
// out. The result tells the caller, which has chosen the line, what happens to the queue of the line.
extension DeliveryPlan {
    /// The result of the dispatch of a single line.
    enum DispatchResult {
        /// The line is no longer in its queue: it left, ended, or waits for its intent, its subject or a tier.
        case progress
        /// The line has to wait for the unproven or the suspect connections. The caller queues it. Other lines
        /// continue.
        case waitsForConnections(PushConnections)
        /// The line cannot leave now: a permit or room on the connections is missing, or a probe is under way. The
        /// caller keeps it in its queue. Lines behind it that have a permit already, or use other connections, may
        /// still leave.
        case staysInQueue
    }

    /// Dispatches a line alone.
    mutating func dispatchLine(
        _ line: Int, of sheet: Sheet, in turn: inout AppTurn, by availability: AvailabilityCheck
    ) -> DispatchResult {
        let decision = decision(for: sheet, line: line, permits: turn.permitsLeft, by: availability)
        let result = carryOut(decision, on: sheet, line: line, in: &turn)
        // If the line was the probe and does not leave after all, the next line may probe at once.
        if !sheet.states[line].stage.isLeavingOrInFlight { endProbe(sheet, line: line, as: .tryAgainAtOnce) }
        return result
    }

    /// Carries out the decision about a line.
    private mutating func carryOut(
        _ decision: LineDecision, on sheet: Sheet, line: Int, in turn: inout AppTurn
    ) -> DispatchResult {
        switch decision {
        case .push(let connections, let isProbe):
            if isProbe { beginProbe(sheet, line: line) }
            push(sheet, line: line, over: connections, in: &turn)
        case .storeIntent(let startsMax, let connections, let isProbe):
            // They are set first, because the start now becomes a waiting start of these connections
            // (`AppQueues.waitingStarts`).
            sheet.setConnections(connections, for: line)
            if isProbe { beginProbe(sheet, line: line) }
            storeIntents(of: sheet, from: line, atMost: min(startsMax, turn.permitsLeft), in: &turn)
        case .waitForConnections(let connections): return .waitsForConnections(connections)
        case .block: claims.block(sheet, line: line)  // until the other push has ended
        case .stayInQueue: return .staysInQueue
        case .skip:  // because a duplicate has done the job
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
}
