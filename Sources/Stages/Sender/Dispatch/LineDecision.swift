internal import Jobs
internal import Lifecycle
internal import Payloads

/// The decision about a line whose turn has come.
enum LineDecision: Sendable {
    case push(isSuspect: Bool, isProbe: Bool)
    /// The intent of a start has to be stored before the start leaves. A start must not be repeated after a
    /// crash.
    ///
    /// - Parameter startsMax: limit of starts whose intents are stored together.
    case storeIntent(startsMax: Int, isSuspect: Bool, isProbe: Bool)
    /// The line waits for the suspect connections. Other lines continue.
    case setAside
    /// The line waits until the push to the same subject has ended.
    case block
    /// Neither this line nor another line of its kind can leave now.
    case stuck
    /// A duplicate has done the line's job.
    case skip
    case endLine(LineOutcome)
    /// The outcome holds for all lines of the sheet that have not left.
    case endSheet(LineOutcome)
    /// The app's breaker is open. The sheet waits in a tier.
    case pauseSheet(cause: String?)
}

// The functions are mutating although they change nothing of the plan, because otherwise each call copies the plan.
extension DeliveryPlan {
    /// Decides about a line whose turn has come. The order: the job may be over, the app may be paused, the subject
    /// may be busy, a permit may be missing, and the connections may be full.
    ///
    /// - Parameter permits: number of new permits that its app may take.
    mutating func decision(
        for sheet: Sheet, line: Int, permits: Int, by availability: AvailabilityCheck
    ) -> LineDecision {
        if let decision = decisionWithoutPush(for: sheet, line: line) { return decision }
        let (app, state) = (sheet.app, sheet.states[line])
        var isProbe = state.isProbe
        if app.breaker.isOpen, !isProbe {
            // A probe is under way. Its answer decides whether the breaker closes.
            if app.breaker.isProbing, state.stage == .unsent { return .stuck }
            guard app.breaker.isProbeDue(at: time.now) else { return .pauseSheet(cause: app.breaker.cause) }
            isProbe = true
        }
        if claims.isSubjectBusy(sheet, line: line) { return .block }
        guard state.reservation != .nothing || permits > 0 else { return .stuck }
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
        if sheet.needsLedger, let staleness = versions.staleness(of: sheet) {
            return .endSheet(.final(.superseded, status: nil, reason: staleness.rawValue))
        }
        if versions.isOutdated(sheet, line: line) {
            return .endLine(.final(.superseded, status: nil, reason: Staleness.newer.rawValue))
        }
        return nil
    }

    /// Decides by the capacity of the connections. An app without capacity begins to wait for APNs.
    private mutating func decisionByCapacity(
        for sheet: Sheet, line: Int, isProbe: Bool, by availability: AvailabilityCheck
    ) -> LineDecision {
        let (app, state) = (sheet.app, sheet.states[line])
        let isSuspect =
            wasRefused(sheet, line: line) || prefersSuspectConnections(sheet, line: line, by: availability)
        let capacity: Int
        switch sheet.availabilityInTurn(isSuspect: isSuspect, by: availability) {
        case .closed(let reason):
            return .endSheet(.retryInTier(.minutes2, tries: sheet.earlierTries, status: nil, reason: reason))
        case .faulty(let code): return .endSheet(.deadLetter(code: code, status: nil, reason: nil))
        case .open(let count), .connecting(let count): capacity = count
        }
        if capacity <= 0 {
            app.silence.begin(at: time.now)
            return isSuspect ? .setAside : .stuck
        }
        if sheet.head.event == .start, state.reservation != .permitAndIntent {
            // Each waiting start has its intent, so it takes the capacity before this one.
            let capacityLeft = capacity - app.waitingStarts(isSuspect: isSuspect)
            guard capacityLeft > 0 else { return isSuspect ? .setAside : .stuck }
            return .storeIntent(startsMax: capacityLeft, isSuspect: isSuspect, isProbe: isProbe)
        }
        return .push(isSuspect: isSuspect, isProbe: isProbe)
    }

    /// Whether APNs refused the line's token last, so that it has to use the suspect connections.
    private mutating func wasRefused(_ sheet: Sheet, line: Int) -> Bool {
        let state = sheet.states[line]
        // An unproven token may use them without a refusal.
        let usedThemAfterRefusal = state.isSuspect && !state.isUnproven
        return usedThemAfterRefusal || sheet.wasRefusedBefore || suspects.contains(sheet.subjects[line])
    }

    /// Whether the line is unproven and uses the suspect connections because they have room.
    private mutating func prefersSuspectConnections(
        _ sheet: Sheet, line: Int, by availability: AvailabilityCheck
    ) -> Bool {
        let app = sheet.app
        guard app.unproven.areSuspect(at: time.now), !isProven(sheet, line: line),
            case .open(let capacity) = sheet.availabilityInTurn(isSuspect: true, by: availability)
        else { return false }
        let hasIntent = sheet.states[line].reservation == .permitAndIntent
        return capacity > (hasIntent ? 0 : app.waitingStarts(isSuspect: true))
    }
}

extension Sheet {
    /// Returns how many pushes of the sheet the connections still take in this turn. They are asked once per
    /// turn. Pushes that were ordered since then count.
    func availabilityInTurn(isSuspect: Bool, by availability: AvailabilityCheck) -> PushAvailability {
        let knownCapacity = app.knownCapacity(isSuspect: isSuspect)
        if let knownCapacity, knownCapacity <= 0 || isSendable { return .open(capacity: knownCapacity) }
        let answer = availability(self, isSuspect)
        switch answer {
        case .open(let capacity), .connecting(let capacity):
            isSendable = true
            app.setCapacity(knownCapacity ?? capacity, isSuspect: isSuspect)
            return .open(capacity: knownCapacity ?? capacity)
        case .closed, .faulty: return answer
        }
    }
}
