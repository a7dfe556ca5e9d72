internal import Lifecycle
internal import LiveActivity

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

extension DeliveryPlan {
    /// Decides about a line whose turn has come.
    ///
    /// It is mutating although it changes nothing of the plan, because otherwise each call copies the plan.
    ///
    /// - Parameter permits: number of new permits that its app may take.
    mutating func decision(
        for sheet: Sheet, line: Int, permits: Int,
        by availability: (Sheet, _ isSuspect: Bool) -> PushAvailability
    ) -> LineDecision {
        let (app, state) = (sheet.app, sheet.states[line])
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
        var isProbe = state.isProbe
        if app.breaker.isOpen, !isProbe {
            // A probe is under way. Its answer decides whether the breaker closes.
            if app.breaker.isProbing, state.stage == .unsent { return .stuck }
            guard app.breaker.isProbeDue(at: time.now) else { return .pauseSheet(cause: app.breaker.cause) }
            isProbe = true
        }
        if claims.isSubjectBusy(sheet, line: line) { return .block }
        let isSuspect = state.isSuspect || sheet.isSuspect || suspects.contains(sheet.subjects[line])
        guard state.reserved != .nothing || permits > 0 else { return .stuck }
        let capacity: Int
        switch sheet.availabilityInTurn(isSuspect: isSuspect, by: availability) {
        case .closed(let reason):
            return .endSheet(.later(.minutes2, tries: sheet.tries, status: nil, reason: reason))
        case .faulty(let code): return .endSheet(.deadLetter(code: code, status: nil, reason: nil))
        case .open(let count), .connecting(let count): capacity = count
        }
        if capacity <= 0 {
            app.silence.begin(at: time.now)
            return isSuspect ? .setAside : .stuck
        }
        if sheet.head.event == .start, state.reserved != .permitAndIntent {
            let left = capacity - app.waitingStarts(isSuspect: isSuspect)
            guard left > 0 else { return isSuspect ? .setAside : .stuck }
            return .storeIntent(startsMax: left, isSuspect: isSuspect, isProbe: isProbe)
        }
        return .push(isSuspect: isSuspect, isProbe: isProbe)
    }
}

extension Sheet {
    /// Returns how many pushes of the sheet the connections still take in this turn. They are asked once per
    /// turn. Pushes that were ordered since then count.
    func availabilityInTurn(
        isSuspect: Bool, by availability: (Sheet, _ isSuspect: Bool) -> PushAvailability
    ) -> PushAvailability {
        let known = app.knownCapacity(isSuspect: isSuspect)
        if let known, known <= 0 || isSendable { return .open(capacity: known) }
        let answer = availability(self, isSuspect)
        switch answer {
        case .open(let capacity), .connecting(let capacity):
            isSendable = true
            app.setCapacity(known ?? capacity, isSuspect: isSuspect)
            return .open(capacity: known ?? capacity)
        case .closed, .faulty: return answer
        }
    }
}
