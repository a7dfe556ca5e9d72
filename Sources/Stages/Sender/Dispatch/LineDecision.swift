internal import APNs
internal import Jobs
internal import Lifecycle
internal import Payloads

/// The decision about a line that is dispatched: it is pushed, it waits, or its job ends. `DeliveryPlan+SingleLines`
/// carries it out.
enum LineDecision: Sendable {
    /// The push leaves.
    ///
    /// - Parameter isProbe: whether it is the probe of an open breaker.
    case push(over: PushConnections, isProbe: Bool)
    /// The intent of a start is stored before the start leaves, so that no crash repeats the start.
    ///
    /// - Parameter startsMax: limit of starts whose intents are stored together.
    case storeIntent(startsMax: Int, over: PushConnections, isProbe: Bool)

    // MARK: Waits

    /// The line waits for the unproven or the suspect connections. Other lines continue.
    case waitForConnections(PushConnections)
    /// The line waits until another push has ended: a push to the same subject, or the push of its duplicate.
    case block
    /// The line cannot leave now: a permit or room on the connections is missing, or a probe is under way.
    case stayInQueue

    // MARK: Ends

    /// A duplicate has done the line's job.
    case skip
    /// The line's job ends, or waits in a tier.
    case endLine(LineOutcome)
    /// Ends the jobs of all waiting lines of the sheet.
    case endSheet(LineOutcome)
    /// The app has no connections, for example because it has no provider key. The waiting lines of the sheet move to a
    /// tier.
    case moveSheet(LaterTier, reason: String)
    /// The app's breaker is open. The sheet waits in a tier, which is chosen when the decision is carried out: one
    /// sheet of each lane comes back early as the scout.
    case pauseSheet(reason: String?)
}

// These functions change neither the plan nor a line. They are mutating because the compiler would copy the whole plan
// for each call of a non-mutating one. The sheet and its app are objects, and remember what a decision finds out: the
// sheet its subjects, the app the capacity of its connections, and the time from which it waits for APNs.
extension DeliveryPlan {
    /// Decides about a line that is dispatched. The order of the checks: whether the job is over, the app is paused,
    /// the subject is busy, a permit is missing, or the connections are full.
    ///
    /// - Parameter permits: number of new permits that its app may take.
    mutating func decision(
        for sheet: Sheet, line: Int, permits: Int, by availability: AvailabilityCheck
    ) -> LineDecision {
        if let decision = decisionWithoutPush(for: sheet, line: line) { return decision }
        if let decision = decisionWithPausedApp(for: sheet, line: line) { return decision }
        if claims.isSubjectBusy(sheet, line: line) { return .block }
        let state = sheet.states[line]
        let needsPermit = state.reservation == .nothing
        if needsPermit, permits <= 0 { return .stayInQueue }
        // A line that may leave although the breaker is open is the probe.
        let isProbe = state.isProbe || sheet.app.breaker.isOpen
        return decisionByCapacity(for: sheet, line: line, isProbe: isProbe, by: availability)
    }

    /// Returns the decision about a line whose job is over, or under way on a duplicate; nil if it may be pushed.
    private mutating func decisionWithoutPush(for sheet: Sheet, line: Int) -> LineDecision? {
        if time.isPast(deadline: sheet.head.deadline) {
            return .endSheet(.final(.expired, status: nil, reason: sheet.reason))
        }
        switch duplicateProgress(of: sheet, line: line) {
        case .notStarted: break
        case .underWay: return .block
        case .done: return .skip
        }
        // `dropStaleSheets` has dropped the lines of a stale sheet already, except those that waited for a duplicate.
        // Only a sheet that needs the ledger has such lines, so only these sheets are checked here.
        if sheet.needsLedger, let staleness = versions.staleness(of: sheet) {
            return .endSheet(.stale(staleness))
        }
        if erasures.isErased(sheet, line: line) { return .endLine(Self.erasedOutcome) }
        // A newer send to a single recipient replaces only the lines for that recipient's activity. So each line is
        // checked when it is dispatched.
        if versions.hasNewerActivityVersion(than: sheet, line: line) { return .endLine(.stale(.newer)) }
        return nil
    }

    /// Returns the decision about a line whose app is paused by its open breaker. Nil if the line may leave: the breaker
    /// is closed, or the line is the probe or can become it now.
    private mutating func decisionWithPausedApp(for sheet: Sheet, line: Int) -> LineDecision? {
        let app = sheet.app
        let state = sheet.states[line]
        guard app.breaker.isOpen, !state.isProbe, !app.breaker.isProbeDue(at: time.now) else { return nil }
        // The answer of a probe decides whether the breaker closes. A line that was never sent waits for the answer in
        // its queue. A line that comes back from a wait may hold up the offset, so its sheet goes to a tier.
        let waitsForProbe = app.breaker.isProbing && state.stage == .unsent
        return waitsForProbe ? .stayInQueue : .pauseSheet(reason: app.breaker.cause)
    }

    /// Decides by the capacity that the pushes of this step have left on the connections. If they are full, the app
    /// waits for APNs from now on (`AppSilence`).
    private mutating func decisionByCapacity(
        for sheet: Sheet, line: Int, isProbe: Bool, by availability: AvailabilityCheck
    ) -> LineDecision {
        let app = sheet.app
        let state = sheet.states[line]
        let connections = connections(for: sheet, line: line)
        let capacity: Int
        switch sheet.availabilityLeftThisStep(of: connections, by: availability) {
        case .closed(let reason): return .moveSheet(.minutes2, reason: reason)
        // The sheet cannot be turned into a request, so none of its lines can leave.
        case .faulty(let code): return .endSheet(.deadLetter(code: code, status: nil, reason: nil))
        case .open(let count): capacity = count
        }
        if capacity <= 0 {
            app.silence.startWaiting(at: time.now)
            return decisionToWait(for: connections)
        }
        if sheet.head.event == .start, state.reservation != .permitAndIntent {
            // The starts that wait for their intents, or to leave after that, take capacity before this start does.
            let capacityLeft = capacity - app.waitingStarts[connections]
            guard capacityLeft > 0 else { return decisionToWait(for: connections) }
            return .storeIntent(startsMax: capacityLeft, over: connections, isProbe: isProbe)
        }
        return .push(over: connections, isProbe: isProbe)
    }

    /// Returns the decision about a line whose connections are full. If these are the usual ones, the line stays where
    /// it is. For the others it waits in a separate queue (`ConnectionQueue`).
    private func decisionToWait(for connections: PushConnections) -> LineDecision {
        connections == .usual ? .stayInQueue : .waitForConnections(connections)
    }

    // MARK: The connections

    /// Chooses the connections for a line: its token is suspect, unproven or neither.
    mutating func connections(for sheet: Sheet, line: Int) -> PushConnections {
        if hasSuspectToken(sheet, line: line) { return .suspect }
        let isSeparated = sheet.app.unproven.areSeparated(at: time.now) && !isProven(sheet, line: line)
        return isSeparated ? .unproven : .usual
    }

    /// Whether the line's token is suspect: APNs refused it last. The sheet computes its subjects at the first question.
    private mutating func hasSuspectToken(_ sheet: Sheet, line: Int) -> Bool {
        sheet.ensureSubjects(seed: seed)
        return sheet.states[line].connections == .suspect || sheet.wasRefusedBefore
            || suspects.contains(sheet.subjects[line])
    }
}
