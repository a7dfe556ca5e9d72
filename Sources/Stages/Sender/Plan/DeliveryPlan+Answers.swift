internal import APNs
internal import Lifecycle
internal import LiveActivity

// The answers of APNs.
extension DeliveryPlan {
    /// Handles an accepted push. Nearly all pushes end this way.
    package mutating func accepted(_ tag: UInt64, at time: CurrentTime) {
        self.time = time
        guard let (sheet, line) = sheets.push(tagged: tag, in: .inFlight) else { return }
        pushEnded(sheet, line: line)
        sheet.app.answered(at: time.now)
        sheet.app.breaker.accepted(1, at: time.now)
        if sheet.states[line].isSuspect { suspects.accepted(sheet.subjects[line]) }
        if sheet.states[line].isProbe { endProbe(sheet, line: line, isMended: true) }
        accept(sheet, line: line)
    }

    /// Handles a push that ended in another way, or that the connections did not take.
    package mutating func ended(_ tag: UInt64, as answer: PushAnswer, at time: CurrentTime) {
        self.time = time
        let stage = answer.isLate ? PushStage.overdue : .inFlight
        guard let (sheet, line) = sheets.push(tagged: tag, in: stage) else { return }
        if answer.end == .unknown(.overdue), !answer.isLate {
            sheet.move(line, on: .pushIsOverdue)
            return
        }
        pushEnded(sheet, line: line)
        if answer.end == .answered { sheet.app.answered(at: time.now) }
        judgeApp(by: answer, to: sheet, line: line)
        let decision = RetryRule.decision(
            after: answer, of: sheet.head, history: history(of: sheet, line: line, after: answer))
        if answer.end.mayHaveArrived { sheet.countTry(line) }
        follow(decision, on: sheet, line: line, after: answer)
    }

    /// Handles a job that the loop cannot turn into a push.
    package mutating func unusable(_ tag: UInt64, code: String, at time: CurrentTime) {
        self.time = time
        guard let (sheet, line) = sheets.push(tagged: tag, in: .inFlight) else { return }
        pushEnded(sheet, line: line)
        endProbe(sheet, line: line, isMended: false)
        decide(sheet, line: line, as: .deadLetter(code: code, status: nil, reason: nil))
    }

    private mutating func pushEnded(_ sheet: Sheet, line: Int) {
        sheet.lane.pushesInFlight -= 1
        sheet.app.pushesInFlight -= 1
        if !sheet.needsLedger { claims.freeSubject(sheet, line: line) }
    }

    private func history(of sheet: Sheet, line: Int, after answer: PushAnswer) -> PushHistory {
        let state = sheet.states[line]
        let breaker = sheet.app.breaker
        return PushHistory(
            tries: sheet.tries + Int(state.tries) + (answer.end.mayHaveArrived ? 1 : 0),
            repeats: Int(state.repeats), refusedBefore: sheet.refusedBefore, isBreakerOpen: breaker.isOpen,
            millisecondsSinceAccepted: breaker.millisecondsSinceAccepted(at: time.now))
    }

    /// Updates the app's breaker with an answer. Only some answers show that the app's settings are wrong.
    private mutating func judgeApp(by answer: PushAnswer, to sheet: Sheet, line: Int) {
        let app = sheet.app
        let word = answer.word ?? ""
        var isOpened = false
        var isMended = false
        switch answer.disposition {
        case .tokenSuspect:
            suspects.refused(sheet.subjects[line])
            isOpened = app.breaker.wrongToken(because: word, at: time.now)
        case .appMisconfigured, .providerTokenExpired, .tooManyProviderTokens:
            isOpened = app.breaker.misconfigured(because: word, at: time.now)
        case nil:
            if answer.end == .notProcessed(.noProviderKey) {
                isOpened = app.breaker.misconfigured(because: word, at: time.now)
            }
        case .accepted:
            // A late answer describes an earlier time, so it does not count in the breaker's window.
            isMended = true
            suspects.accepted(sheet.subjects[line])
        case .tokenGone, .tokenThrottled, .connectionUnusable, .serverTrouble, .requestFaulty, .channelGone,
            .channelLimit:
            app.breaker.other(at: time.now)
            isMended = answer.disposition == .tokenGone
        }
        if isOpened { actions.events.append(.breakerOpened(app.name, reason: word)) }
        endProbe(sheet, line: line, isMended: isMended)
    }

    private mutating func endProbe(_ sheet: Sheet, line: Int, isMended: Bool) {
        guard sheet.states[line].isProbe else { return }
        sheet.setProbe(false, for: line)
        if sheet.app.breaker.probed(isMended: isMended, at: time.now) {
            actions.events.append(.breakerClosed(sheet.app.name))
        }
    }

    // MARK: Decisions

    private mutating func follow(
        _ decision: RetryDecision, on sheet: Sheet, line: Int, after answer: PushAnswer
    ) {
        let (status, word) = (answer.status, answer.word)
        switch decision {
        case .accepted: accept(sheet, line: line)
        case .rejected(let isDead):
            if isDead { reportDeadToken(sheet, line: line, after: answer) }
            decide(sheet, line: line, as: .final(.rejected, status: status, reason: word))
        case .deadLetter(let code):
            decide(sheet, line: line, as: .deadLetter(code: code, status: status, reason: word))
        case .unknown: decide(sheet, line: line, as: .final(.unknown, status: nil, reason: word))
        case .again, .later:
            // The next owner of the lane takes over failed pushes.
            if sheet.lane.isLeaving {
                abandon(sheet, line: line)
                return removeIfDone(sheet)
            }
            tryAgain(decision, of: sheet, line: line, after: answer)
        }
    }

    private mutating func tryAgain(
        _ decision: RetryDecision, of sheet: Sheet, line: Int, after answer: PushAnswer
    ) {
        switch decision {
        case .accepted, .rejected, .deadLetter, .unknown: break
        case .later(let tier, let isTry): move(sheet, line: line, to: tier, isTry: isTry, after: answer)
        case .again(let milliseconds):
            if eviction.mustMakeRoom(sheet, memory: sheets.memory) {
                let tier = eviction.tier(for: sheet, at: time.now)
                return move(sheet, line: line, to: tier, isTry: answer.end.mayHaveArrived, after: answer)
            }
            backOff(sheet, line: line, milliseconds: milliseconds, after: answer)
        }
    }

    private mutating func reportDeadToken(_ sheet: Sheet, line: Int, after answer: PushAnswer) {
        actions.deadTokens.append(
            DeliveryActions.DeadToken(
                sheet: sheet, line: line, reason: answer.word ?? "", invalidatedAt: answer.timestamp))
    }

    /// Tries the line again in this process. It keeps its permit and its intent if the push may have arrived.
    private mutating func backOff(
        _ sheet: Sheet, line: Int, milliseconds: Int, after answer: PushAnswer
    ) {
        let state = sheet.states[line]
        if !answer.end.mayHaveArrived, state.reserved == .permit, state.tries == 0 {
            claims.givePermit(sheet, line: line)
        }
        if milliseconds == 0 { return sheet.app.requeue(QueuedLine(sheet: sheet, line: line)) }
        sheet.move(line, on: .backedOff)
        sheet.countRepeat(line)
        queues.backOff(sheet, line: line, until: time.now.advanced(byMilliseconds: milliseconds))
    }

    /// Moves the line to a tier.
    private mutating func move(
        _ sheet: Sheet, line: Int, to tier: LaterTier, isTry: Bool, after answer: PushAnswer
    ) {
        if let staleness = versions.staleness(of: sheet) {
            return decide(
                sheet, line: line, as: .final(.superseded, status: nil, reason: staleness.rawValue))
        }
        guard let tier = tier.longest(before: sheet.head.deadline, at: time) else {
            return decide(
                sheet, line: line, as: .final(.expired, status: answer.status, reason: answer.word))
        }
        let counted = Int(sheet.states[line].tries)
        let tries = sheet.tries + (isTry ? counted : max(0, counted - 1))
        decide(
            sheet, line: line, as: .later(tier, tries: tries, status: answer.status, reason: answer.word))
    }
}

extension PushEnd {
    /// Whether a part of the request may have reached APNs.
    fileprivate var mayHaveArrived: Bool {
        switch self {
        case .answered, .unknown: true
        case .notProcessed, .withdrawn: false
        }
    }
}
