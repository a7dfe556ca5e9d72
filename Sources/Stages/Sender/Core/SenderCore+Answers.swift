internal import APNs
internal import Lifecycle
internal import LiveActivity

// The answers of APNs.
extension SenderCore {
    /// Handles an accepted push. Nearly all pushes end this way.
    package mutating func accepted(_ tag: UInt64, _ moment: Moment) {
        self.moment = moment
        guard let (sheet, line) = pushed(tag), sheet.states[line].step == .inFlight else { return }
        left(sheet, line)
        sheet.app.heard(at: moment.now)
        sheet.app.breaker.accepted(1, at: moment.now)
        if sheet.states[line].isSuspect { failed.remove(sheet.subjects[line]) }
        if sheet.states[line].isProbe { probed(sheet, line, isMended: true) }
        accept(sheet, line)
    }

    /// Handles a push that ended in another way, or that the connections did not take.
    package mutating func ended(_ tag: UInt64, as answer: PushAnswer, _ moment: Moment) {
        self.moment = moment
        guard let (sheet, line) = pushed(tag),
            sheet.states[line].step == (answer.isLate ? .late : .inFlight)
        else { return }
        let state = sheet.states[line]
        let counts = answer.end.mayHaveArrived
        let tries = sheet.tries + Int(state.tries) + (counts ? 1 : 0)
        if answer.end == .unknown(.overdue), !answer.isLate {
            // The final answer can still arrive. Until then no other push may use this token.
            sheet.states[line].step = .late
            return
        }
        left(sheet, line)
        if answer.end == .answered { sheet.app.heard(at: moment.now) }
        blame(sheet, line, for: answer)
        let known = RetryRule.Case(
            tries: tries, repeats: Int(state.repeats), refusedBefore: sheet.refusedBefore,
            isBreakerOpen: sheet.app.breaker.isOpen,
            millisecondsSinceAccepted: sheet.app.breaker.millisecondsSinceAccepted(at: moment.now))
        let verdict = RetryRule.verdict(answer, of: sheet.head, known)
        if counts { sheet.states[line].tries = UInt8(clamping: Int(state.tries) + 1) }
        follow(verdict, on: sheet, line: line, after: answer)
    }

    /// Handles a job that the worker cannot turn into a push.
    package mutating func unusable(_ tag: UInt64, code: String, _ moment: Moment) {
        self.moment = moment
        guard let (sheet, line) = pushed(tag), sheet.states[line].step == .inFlight else { return }
        left(sheet, line)
        probed(sheet, line, isMended: false)
        decide(sheet, line, as: .letter(code: code, status: nil, reason: nil))
    }

    private func pushed(_ tag: UInt64) -> (Sheet, Int)? {
        let (slot, line) = (Int(tag >> 16), Int(tag & 0xFFFF))
        guard slot < slots.count, let sheet = slots[slot], line < sheet.lineCount else { return nil }
        return (sheet, line)
    }

    /// Removes a push from the counts of pushes in flight.
    private mutating func left(_ sheet: Sheet, _ line: Int) {
        sheet.lane.inFlight -= 1
        sheet.app.inFlight -= 1
        if !sheet.asksLedger { freeSubject(sheet, line) }
    }

    /// Updates the app's breaker with an answer. Only some answers show that the app's settings are wrong.
    private mutating func blame(_ sheet: Sheet, _ line: Int, for answer: PushAnswer) {
        let app = sheet.app
        let word = answer.word ?? ""
        var isOpened = false
        var isMended = false
        switch answer.disposition {
        case .tokenSuspect:
            failed.set(sheet.subjects[line], true)
            isOpened = app.breaker.wrongToken(word, at: moment.now)
        case .appMisconfigured, .providerTokenExpired, .providerTokenTooMany:
            isOpened = app.breaker.misconfigured(word, at: moment.now)
        case nil:
            if answer.end == .notProcessed(.noProviderKey) {
                isOpened = app.breaker.misconfigured(word, at: moment.now)
            }
        case .accepted:
            // A late answer describes an earlier time, so it does not count in the breaker's window.
            isMended = true
            failed.remove(sheet.subjects[line])
        case .tokenGone, .tokenThrottled, .connectionOver, .serverTrouble, .requestFaulty, .channelGone,
            .channelLimit:
            app.breaker.other(at: moment.now)
            isMended = answer.disposition == .tokenGone
        }
        if isOpened { orders.notes.append(.breakerOpened(app.name, reason: word)) }
        probed(sheet, line, isMended: isMended)
    }

    private mutating func probed(_ sheet: Sheet, _ line: Int, isMended: Bool) {
        guard sheet.states[line].isProbe else { return }
        sheet.states[line].isProbe = false
        if sheet.app.breaker.probed(isMended: isMended, at: moment.now) {
            orders.notes.append(.breakerClosed(sheet.app.name))
        }
    }

    /// Ends a probe whose push did not leave.
    mutating func giveUpProbe(_ sheet: Sheet, _ line: Int) {
        sheet.states[line].isProbe = false
        sheet.app.breaker.gaveUpProbe()
    }

    private mutating func follow(
        _ verdict: Verdict, on sheet: Sheet, line: Int, after answer: PushAnswer
    ) {
        switch verdict {
        case .accepted: accept(sheet, line)
        case .rejected(let isDead): reject(sheet, line, after: answer, isDead: isDead)
        case .buried(let code):
            decide(sheet, line, as: .letter(code: code, status: answer.status, reason: answer.word))
        case .unknown: decide(sheet, line, as: .final(.unknown, status: nil, reason: answer.word))
        case .again, .later:
            if sheet.lane.isLeaving {
                comeBack(sheet, line, as: .queued)
                abandon(sheet, line)
                return finishIfDone(sheet)
            }
            if case .again(let milliseconds) = verdict {
                if holdsUpOthers(sheet) {
                    return move(
                        sheet, line, to: roomTier(of: sheet), isTry: answer.end.mayHaveArrived, after: answer)
                }
                return wait(sheet, line, milliseconds: milliseconds, after: answer)
            }
            if case .later(let tier, let isTry) = verdict {
                return move(sheet, line, to: tier, isTry: isTry, after: answer)
            }
        }
    }

    private mutating func reject(
        _ sheet: Sheet, _ line: Int, after answer: PushAnswer, isDead: Bool
    ) {
        if isDead {
            orders.deadTokens.append(
                SenderOrders.DeadToken(
                    sheet: sheet, line: line, reason: answer.word ?? "", invalidatedAt: answer.timestamp))
        }
        decide(
            sheet, line, as: .final(.rejected, status: answer.status, reason: answer.word))
    }

    /// Puts the line back into a waiting step. The line keeps its permit and its intent.
    private mutating func comeBack(_ sheet: Sheet, _ line: Int, as step: LineStep) {
        sheet.states[line].step = step
        if sheet.states[line].hasIntent { sheet.countIntent(line, 1) }
    }

    private mutating func wait(
        _ sheet: Sheet, _ line: Int, milliseconds: Int, after answer: PushAnswer
    ) {
        comeBack(sheet, line, as: .waiting)
        if !answer.end.mayHaveArrived, !sheet.states[line].hasIntent, sheet.states[line].tries == 0 {
            givePermit(sheet, line)
        }
        if milliseconds == 0 { return comeAgain(sheet, line) }
        sheet.states[line].repeats = UInt8(clamping: Int(sheet.states[line].repeats) + 1)
        let due = moment.now.advanced(byMilliseconds: milliseconds)
        waitingLines.add(AppFlow.Again(sheet: sheet, line: line), at: due)
    }

    private mutating func move(
        _ sheet: Sheet, _ line: Int, to tier: LaterTier, isTry: Bool, after answer: PushAnswer
    ) {
        // The line's step is still `inFlight`, so `decide` does not subtract its intent from the waiting ones
        // again.
        if let staleness = superseded.staleness(of: sheet.head, sheet.group) {
            return decide(
                sheet, line, as: .final(.superseded, status: nil, reason: staleness.rawValue))
        }
        guard let tier = tier.longest(before: sheet.head.deadline, at: moment) else {
            return decide(
                sheet, line, as: .final(.expired, status: answer.status, reason: answer.word))
        }
        let tries =
            sheet.tries + Int(sheet.states[line].tries) - (isTry ? 0 : min(1, Int(sheet.states[line].tries)))
        decide(
            sheet, line, as: .later(tier, tries: tries, status: answer.status, reason: answer.word))
    }

    // MARK: Waiting lines

    /// Queues the lines whose wait has ended.
    mutating func wake() {
        while let waited = waitingLines.takeDue(at: moment.now) {
            guard waited.sheet.slot >= 0, waited.sheet.states[waited.line].step == .waiting else { continue }
            if dropIfStale(waited.sheet) { continue }
            comeAgain(waited.sheet, waited.line)
        }
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
