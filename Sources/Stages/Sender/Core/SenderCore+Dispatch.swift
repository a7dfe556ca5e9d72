internal import APNs
internal import Lifecycle
internal import LiveActivity

// The choice of the next push.
extension SenderCore {
    /// Limit of lines in `again` that are tried without success before the next sheet has its turn.
    private static let againLooksMax = 16

    /// Sends what the apps may send. The apps take turns, so that no app waits for the backlog of another.
    mutating func dispatch(_ way: (Sheet, _ isSuspect: Bool) -> PushWay) {
        guard isInformed, moment.now < leaseUntil, !rotation.isEmpty else { return }
        let isAlone = busyApps() < 2
        for app in rotation { (app.room, app.suspectRoom) = (nil, nil) }
        var idle = 0
        while idle < rotation.count {
            turnOfApp = (turnOfApp + 1) % rotation.count
            let app = rotation[turnOfApp]
            var turn = AppTurn(permits: permits.room(holding: app.permits, isAlone: isAlone))
            idle = app.hasWork && serve(app, &turn, by: way) ? 0 : idle + 1
        }
    }

    /// Returns the number of apps that have work, or had work lately.
    private func busyApps() -> Int {
        rotation.reduce(0) { count, app in
            let isBusy =
                app.permits > 0 || app.hasWork
                || moment.now.milliseconds(since: app.lastUsed) < Self.lateMilliseconds
            return isBusy ? count + 1 : count
        }
    }

    private static let lateMilliseconds = 60_000

    /// Limits and counts of one app's turn.
    struct AppTurn {
        /// New permits that the app may take.
        var permits: Int
        var lines = 0
        /// Whether the suspect connections are full.
        var areSuspectsFull = false
    }

    private enum Step {
        case went
        /// The line waits for the suspect connections. Other lines continue.
        case setAside
        /// Neither this line nor another line of its kind can leave now.
        case stuck
    }

    /// Returns whether a line was served.
    private mutating func serve(
        _ app: AppFlow, _ turn: inout AppTurn,
        by way: (Sheet, _ isSuspect: Bool) -> PushWay
    ) -> Bool {
        app.lastUsed = moment.now
        var hasGone = false
        while turn.lines < AppFlow.turnLinesMax {
            guard serveOne(app, &turn, by: way) == .went else { break }
            turn.lines += 1
            hasGone = true
        }
        return hasGone
    }

    private mutating func serveOne(
        _ app: AppFlow, _ turn: inout AppTurn,
        by way: (Sheet, _ isSuspect: Bool) -> PushWay
    ) -> Step {
        for _ in 0..<Self.againLooksMax {
            guard let again = app.again.first else { break }
            app.again.removeFirst()
            guard again.sheet.slot >= 0, again.sheet.states[again.line].step == .queued else { return .went }
            if serve(again.sheet, line: again.line, in: &turn, by: way) != .stuck { return .went }
            // A stuck line must not hold up the others: they may have a permit, or use other connections.
            app.again.append(again)
        }
        if serveSuspect(of: app, in: &turn, by: way) { return .went }
        guard let (sheet, isUsual) = app.next else { return .stuck }
        while sheet.cursor < sheet.lineCount, !sheet.isFresh(sheet.cursor) { sheet.cursor += 1 }
        if sheet.isOver || sheet.cursor == sheet.lineCount {
            if !sheet.isOver, sheet.passedOver > 0 {
                app.putBack(isUsual)
            } else {
                app.dequeue(isUsual)
            }
            return .went
        }
        guard let count = pushRun(of: sheet, isUsual: isUsual, in: &turn, by: way) else { return .went }
        if count > 0 {
            // The caller adds one itself.
            turn.lines += count - 1
            app.urgentRun = isUsual ? 0 : app.urgentRun + count
            return .went
        }
        let step = serve(sheet, line: sheet.cursor, in: &turn, by: way)
        if step == .setAside { return .went }
        if step == .went { app.urgentRun = isUsual ? 0 : app.urgentRun + 1 }
        return step
    }

    /// Serves a line that was set aside. Returns whether it left.
    private mutating func serveSuspect(
        of app: AppFlow, in turn: inout AppTurn, by way: (Sheet, _ isSuspect: Bool) -> PushWay
    ) -> Bool {
        guard !turn.areSuspectsFull, (app.suspectRoom ?? 1) > 0, let next = app.suspects.first else {
            return false
        }
        let movedAt = app.suspectsMovedAt
        app.suspects.removeFirst()
        guard next.sheet.slot >= 0, next.sheet.states[next.line].step == .queued else { return true }
        let step = serve(next.sheet, line: next.line, in: &turn, by: way)
        if step == .stuck { app.suspects.append(next) }
        turn.areSuspectsFull = step != .went
        app.suspectsMovedAt = step == .went ? moment.now : movedAt
        return step == .went
    }

    private mutating func serve(
        _ sheet: Sheet, line: Int, in turn: inout AppTurn,
        by way: (Sheet, _ isSuspect: Bool) -> PushWay
    ) -> Step {
        let step = decideStep(sheet, line: line, in: &turn, by: way)
        let now = sheet.states[line].step
        if sheet.states[line].isProbe, now != .inFlight, now != .intending { giveUpProbe(sheet, line) }
        return step
    }

    private mutating func decideStep(
        _ sheet: Sheet, line: Int, in turn: inout AppTurn,
        by way: (Sheet, _ isSuspect: Bool) -> PushWay
    ) -> Step {
        if moment.isPast(sheet.head.deadline) {
            decideUnsent(sheet, as: .final(.expired, status: nil, reason: sheet.reason))
            return .went
        }
        if leavesToTwin(sheet, line) {
            finishIfDone(sheet)
            return .went
        }
        if sheet.asksLedger, dropIfStale(sheet) { return .went }
        if sheet.isOutdated(line, by: newest) {
            let reason = Staleness.newer.rawValue
            decide(sheet, line, as: .final(.superseded, status: nil, reason: reason))
            return .went
        }
        if sheet.app.breaker.isOpen, !sheet.states[line].isProbe {
            // A probe is under way. Its answer decides whether the breaker closes.
            if sheet.app.breaker.isProbing, !sheet.states[line].isAgain { return .stuck }
            guard sheet.app.breaker.mayProbe(at: moment.now) else { return park(sheet) }
            sheet.states[line].isProbe = true
        }
        if waitsForSubject(sheet, line) { return .went }
        let isSuspect =
            sheet.states[line].isSuspect || sheet.isSuspect || failed[sheet.subjects[line]] != nil
        guard sheet.states[line].hasPermit || turn.permits > 0 else { return .stuck }
        switch room(for: sheet, isSuspect: isSuspect, by: way) {
        case .closed(let reason):
            decideUnsent(sheet, as: .later(.minutes2, tries: sheet.tries, status: nil, reason: reason))
            return .went
        case .faulty(let code):
            decideUnsent(sheet, as: .letter(code: code, status: nil, reason: nil))
            return .went
        case .open(let room) where room <= 0, .connecting(let room) where room <= 0:
            sheet.app.silence.begin(at: moment.now)
            return isSuspect ? setAside(sheet, line) : .stuck
        case .open(let room), .connecting(let room):
            if sheet.head.event == .start, !sheet.states[line].hasIntent {
                let intended = isSuspect ? sheet.app.suspectsIntended : sheet.app.intended
                guard room > intended else { return isSuspect ? setAside(sheet, line) : .stuck }
                sheet.states[line].isSuspect = isSuspect
                return intend(sheet, from: line, atMost: room - intended, in: &turn)
            }
            push(sheet, line, isSuspect: isSuspect, in: &turn)
            return .went
        }
    }

    /// Puts the line into the queue for the suspect connections. If too many lines wait there, the line moves
    /// to a tier, and the move does not count as a try.
    private mutating func setAside(_ sheet: Sheet, _ line: Int) -> Step {
        if sheet.app.suspects.count >= AppFlow.suspectsMax {
            moveSuspect(sheet, line)
            return .went
        }
        if sheet.app.suspects.isEmpty { sheet.app.suspectsMovedAt = moment.now }
        if sheet.states[line].hasIntent, !sheet.states[line].isSuspect {
            sheet.countIntent(line, -1)
            sheet.states[line].isSuspect = true
            sheet.countIntent(line, 1)
        }
        sheet.states[line].isAgain = true
        sheet.app.suspects.append(AppFlow.Again(sheet: sheet, line: line))
        return .setAside
    }

    func room(
        for sheet: Sheet, isSuspect: Bool, by way: (Sheet, _ isSuspect: Bool) -> PushWay
    ) -> PushWay {
        let app = sheet.app
        if let known = isSuspect ? app.suspectRoom : app.room, known <= 0 || sheet.hasWay {
            return .open(room: known)
        }
        let answer = way(sheet, isSuspect)
        switch answer {
        case .open(let room), .connecting(let room):
            sheet.hasWay = true
            // The worker is asked once per turn. Pushes ordered in this turn are counted here, because the
            // connections learn of them only later.
            let known = (isSuspect ? app.suspectRoom : app.room) ?? room
            if isSuspect { app.suspectRoom = known } else { app.room = known }
            return .open(room: known)
        case .closed, .faulty: return answer
        }
    }

    private mutating func push(_ sheet: Sheet, _ line: Int, isSuspect: Bool, in turn: inout AppTurn) {
        if !sheet.states[line].hasPermit { turn.permits -= 1 }
        if isSuspect { sheet.app.suspectRoom? -= 1 } else { sheet.app.room? -= 1 }
        takePermit(sheet, line)
        leaveIntent(sheet, line)
        sheet.states[line].step = .inFlight
        sheet.states[line].isSuspect = isSuspect
        sheet.lane.inFlight += 1
        sheet.app.inFlight += 1
        sheet.app.silence.begin(at: moment.now)
        hold(sheet, line)
        sheet.isBegun = true
        orders.pushes.append(SenderOrders.Push(sheet: sheet, line: line, isSuspect: isSuspect))
    }

    /// Stores the intents of starts before they leave. A start must not be repeated after a crash.
    private mutating func intend(
        _ sheet: Sheet, from first: Int, atMost room: Int, in turn: inout AppTurn
    ) -> Step {
        let isFresh = first == sheet.cursor
        var count = min(room, turn.permits)
        // Each of the other lines would need its own checks.
        let isAlone = sheet.states[first].isProbe || sheet.states[first].isSuspect
        if isAlone || !isFresh || sheet.asksLedger { count = min(count, 1) }
        guard count > 0 else { return .stuck }
        var lines = LineSet()
        for line in first..<sheet.lineCount where lines.count < count {
            guard line == first || mayIntend(sheet, line) else { continue }
            hold(sheet, line)
            sheet.states[line].step = .intending
            takePermit(sheet, line)
            sheet.countIntent(line, 1)
            lines.append(line)
        }
        turn.permits -= lines.count
        sheet.isBegun = true
        order(
            .receipt([Receipt.Part(.intent, sheet.origin(of: lines))]), of: sheet, lines: lines,
            in: sheet.lane)
        return .went
    }

    private func mayIntend(_ sheet: Sheet, _ line: Int) -> Bool {
        sheet.isFresh(line) && !busy.contains(sheet.subjects[line]) && failed[sheet.subjects[line]] == nil
    }

    /// Moves the jobs of an app whose setting is wrong to a tier. One sheet of each lane comes back soon to
    /// probe the setting, and the others come back later. These moves do not count as tries.
    private mutating func park(_ sheet: Sheet) -> Step {
        var tier = LaterTier.minutes2
        if moment.now >= sheet.app.scoutsBack[sheet.lane.number] ?? moment.now {
            tier = .seconds5
            sheet.app.scoutsBack[sheet.lane.number] = moment.now.advanced(
                byMilliseconds: tier.waitMilliseconds)
        }
        decideUnsent(
            sheet, as: .later(tier, tries: sheet.tries, status: nil, reason: sheet.app.breaker.cause))
        return .went
    }
}

extension Sheet {
    /// Whether the line has not had its turn yet.
    func isFresh(_ line: Int) -> Bool { states[line].step == .queued && !states[line].isAgain }

    /// Whether a newer version of the line's activity is known, within a recipient's scope.
    func isOutdated(_ line: Int, by newest: NewestVersions) -> Bool {
        guard head.event == .update, head.conflate, !activities.isEmpty else { return false }
        return newest.isOlder(head.version, of: activities[line])
    }

    /// Whether APNs refused the sheet's tokens before. Such jobs use the suspect connections.
    var isSuspect: Bool { refusedBefore != nil }

    /// The tier in which the sheet waited after that refusal.
    var refusedBefore: LaterTier? {
        guard reason.flatMap(Reason.init(text:))?.disposition == .tokenSuspect else { return nil }
        return topic.tier
    }
}

extension AppFlow {
    var hasSheets: Bool { !urgent.isEmpty || !usual.isEmpty }

    /// The next sheet: urgent sheets first, but the usual class gets its share.
    var next: (sheet: Sheet, isUsual: Bool)? {
        if let sheet = usual.first, urgent.isEmpty || urgentRun + 1 >= Self.usualEvery {
            return (sheet, true)
        }
        return urgent.first.map { ($0, false) }
    }

    func putBack(_ isUsual: Bool) {
        if isUsual { usual.putBackFirst() } else { urgent.putBackFirst() }
    }

    func dequeue(_ isUsual: Bool) {
        let sheet = isUsual ? usual.first : urgent.first
        sheet?.isQueued = false
        if isUsual { usual.removeFirst() } else { urgent.removeFirst() }
    }
}
