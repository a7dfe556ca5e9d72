internal import APNs
internal import Jobs
internal import Lifecycle

// The ends of pushes: the answers of APNs, and the pushes without an answer. `RetryRule` decides about each job, and
// these functions carry the decision out.
extension DeliveryPlan {
    /// Handles an accepted push. Nearly all pushes end this way.
    package mutating func accepted(_ tag: UInt64, at time: CurrentTime) {
        self.time = time
        guard let (sheet, line) = sheets.pushedLine(tagged: tag, in: .inFlight) else { return }
        notePushEnded(sheet, line: line)
        sheet.app.noteAnswer(at: time.now)
        sheet.app.noteAccepted(at: time.now)
        noteWorkingToken(sheet, line: line)
        decideAccepted(sheet, line: line)
    }

    /// Handles a push that ended in another way, or that the connections did not take. A push without an answer before
    /// its deadline ends twice: first as overdue, and later with its final answer (`PushAnswer.isLate`).
    package mutating func ended(_ tag: UInt64, as answer: PushAnswer, at time: CurrentTime) {
        self.time = time
        let stage = answer.isLate ? PushStage.overdue : .inFlight
        guard let (sheet, line) = sheets.pushedLine(tagged: tag, in: stage) else { return }
        if answer.end == .unknown(.overdue), !answer.isLate {
            sheet.move(line, on: .pushIsOverdue)
            return
        }
        notePushEnded(sheet, line: line)
        if answer.end == .answered { sheet.app.noteAnswer(at: time.now) }
        // The breaker comes first. If this refusal opens it, the refusal says nothing about the token.
        updateBreaker(with: answer, to: sheet, line: line)
        let decision = RetryRule.decision(
            after: answer, of: sheet.head, history: history(of: sheet, line: line, endingAs: answer.end))
        carryOut(decision, on: sheet, line: line, after: answer)
    }

    /// Handles a job that the loop cannot turn into a push.
    package mutating func unusable(_ tag: UInt64, code: String, at time: CurrentTime) {
        self.time = time
        guard let (sheet, line) = sheets.pushedLine(tagged: tag, in: .inFlight) else { return }
        notePushEnded(sheet, line: line)
        endProbe(sheet, line: line, as: .tryAgainAtOnce)
        decide(sheet, line: line, as: .deadLetter(code: code, status: nil, reason: nil))
    }

    /// Notes that a push is no longer under way. It comes before `noteAnswer`, which reads the count.
    private mutating func notePushEnded(_ sheet: Sheet, line: Int) {
        sheet.lane.pushesInFlight -= 1
        sheet.app.pushesInFlight -= 1
        // The subject of a job that may have a duplicate stays held until the outcome is stored, because the duplicate
        // waits for that.
        if !sheet.needsLedger { claims.freeSubject(sheet, line: line) }
    }

    /// Returns the facts that decide beside the answer. The tries include the push that has ended.
    private func history(of sheet: Sheet, line: Int, endingAs end: PushEnd) -> PushHistory {
        let state = sheet.states[line]
        let newTries = end.mayHaveArrived ? 1 : 0
        return PushHistory(
            tries: sheet.tries(of: line) + newTries, triesHere: Int(state.tries) + newTries,
            pausesHere: Int(state.pausesHere), tierAfterRefusal: sheet.tierAfterRefusal,
            isBreakerOpen: sheet.app.breaker.isOpen,
            millisecondsSinceAccepted: sheet.app.millisecondsSinceAccepted(at: time.now))
    }

    // MARK: Decisions

    /// Carries out the decision about a job whose push has ended. A try is counted only if the job goes on.
    private mutating func carryOut(
        _ decision: RetryDecision, on sheet: Sheet, line: Int, after answer: PushAnswer
    ) {
        let (status, reason) = (answer.status, answer.reasonCode)
        switch decision {
        // `accepted` handles all acceptances that are not late.
        case .accepted: decideAccepted(sheet, line: line)
        case .rejected(let isDead):
            if isDead { reportDeadToken(sheet, line: line, after: answer) }
            decide(sheet, line: line, as: .final(.rejected, status: status, reason: reason))
        case .deadLetter(let code):
            decide(sheet, line: line, as: .deadLetter(code: code, status: status, reason: reason))
        case .unknown: decide(sheet, line: line, as: .final(.unknown, status: nil, reason: reason))
        case .leaveToNextOwner:
            precondition(sheet.lane.isLeaving, "a push of a lane that is kept was withdrawn")
            leaveToNextOwner(sheet, line: line)
        case .retryHere(let milliseconds, let countsAsTry):
            if sheet.lane.isLeaving { return leaveToNextOwner(sheet, line: line) }
            if countsAsTry { sheet.countTry(line) }
            if eviction.mustMakeRoom(sheet, memory: sheets.memory) {
                let tier = eviction.tier(for: sheet, at: time.now)
                return retryInTier(sheet, line: line, in: tier, after: answer)
            }
            retryHere(sheet, line: line, afterMilliseconds: milliseconds)
        case .retryInTier(let tier, let countsAsTry):
            if sheet.lane.isLeaving { return leaveToNextOwner(sheet, line: line) }
            if countsAsTry { sheet.countTry(line) }
            retryInTier(sheet, line: line, in: tier, after: answer)
        }
    }

    private mutating func reportDeadToken(_ sheet: Sheet, line: Int, after answer: PushAnswer) {
        actions.deadTokens.append(
            DeliveryActions.DeadToken(
                sheet: sheet, line: line, reason: answer.reasonCode ?? "", invalidatedAt: answer.timestamp))
    }

    /// Tries the line again in this process after a pause.
    private mutating func retryHere(_ sheet: Sheet, line: Int, afterMilliseconds milliseconds: Int) {
        // A line that may have arrived keeps its permit, because its push may still become a duplicate. So does a start
        // with a stored intent: its permit and its intent belong together until an outcome is stored.
        let hasSurelyNotArrived = sheet.states[line].tries == 0
        if hasSurelyNotArrived, sheet.states[line].reservation == .permit {
            claims.giveBackPermit(sheet, line: line)
        }
        sheet.move(line, on: .backedOff)
        sheet.countPause(line)
        queues.backOff(sheet, line: line, until: time.now.advanced(byMilliseconds: milliseconds))
    }

    /// Moves the line to a tier, or to a shorter one if the deadline comes before the tier's wait ends. A line that is
    /// stale, or has no time left for any tier, ends.
    private mutating func retryInTier(
        _ sheet: Sheet, line: Int, in tier: LaterTier, after answer: PushAnswer
    ) {
        if let staleness = versions.staleness(of: sheet) {
            return decide(sheet, line: line, as: .stale(staleness))
        }
        guard let tier = tier.shortenedToEnd(before: sheet.head.deadline, at: time) else {
            return decide(
                sheet, line: line, as: .final(.expired, status: answer.status, reason: answer.reasonCode))
        }
        decide(
            sheet, line: line,
            as: .retryInTier(
                tier, tries: sheet.tries(of: line), status: answer.status, reason: answer.reasonCode))
    }
}

extension PushEnd {
    /// Whether APNs received the push, or may have. Such a push counts as a try, unless the decision says that the
    /// app's settings were at fault (`countsAsTry`).
    fileprivate var mayHaveArrived: Bool {
        switch self {
        case .answered, .unknown: true
        case .notProcessed, .withdrawn: false
        }
    }
}
