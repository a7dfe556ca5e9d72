package import Lifecycle

/// The end of a request on its connection: first its effect on the connection, and then the decision about the
/// request.
extension PoolStateMachine {
    /// Handles an outcome. Returns the report that the caller makes to the owner of the request.
    package mutating func end(_ ticket: PoolTicket, with outcome: PoolOutcome, at now: Instant) -> PoolVerdict
    {
        guard isCurrent(ticket) else { return .stale }
        let connection = index(of: self[ticket].connection)
        switch self[ticket].phase {
        case .open: break
        case .late: return endLate(ticket, with: outcome, on: connection, at: now)
        case .free, .waiting, .backingOff: return .stale
        }
        if let connection { recordEnd(outcome, onConnection: connection, at: now) }
        let verdict = decide(ticket, outcome: outcome, on: connection, at: now)
        // An overdue request keeps its slot until its stream closes.
        if case .ended(let end) = verdict, end != .unknown(.overdue) { release(ticket.index) }
        return verdict
    }

    /// Counts the end of a request on its connection.
    private mutating func recordEnd(_ outcome: PoolOutcome, onConnection index: Int, at now: Instant) {
        connections[index].liveStreams -= 1
        connections[index].isBlocked = false
        switch outcome {
        case .answered, .refused: connections[index].consecutiveOverdues = 0
        case .reset(let isEnhanceYourCalm, _):
            connections[index].consecutiveOverdues = 0
            if isEnhanceYourCalm { connections[index].handleEnhanceYourCalm(settings: settings, at: now) }
        case .overdue(let mayHaveBeenSent):
            if mayHaveBeenSent {
                connections[index].overdueStreams += 1
            } else {
                connections[index].abandonedStreams += 1
            }
            connections[index].consecutiveOverdues += 1
            if connections[index].isUnresponsive(settings: settings) {
                retire(connectionIndex: index, at: now)
            }
        case .withdrawn: connections[index].abandonedStreams += 1
        case .notProcessed, .connectionLost: break
        }
    }

    /// Decides whether the request has ended or is sent again.
    private mutating func decide(
        _ ticket: PoolTicket, outcome: PoolOutcome, on connection: Int?, at now: Instant
    ) -> PoolVerdict {
        switch outcome {
        case .answered(let effect): return handleAnswer(to: ticket, effect: effect, on: connection, at: now)
        case .notProcessed:
            return requeueIfInTime(ticket, at: now)
                ? .retry : .ended(.notProcessed(isStopped ? .stopped : .overdue))
        // If a stream is reset before the whole request was sent, APNs has not processed it, as after a
        // refusal.
        case .refused, .reset(_, mayHaveBeenSent: false): return handleRefusal(of: ticket, at: now)
        case .reset: return .ended(.unknown(.reset))
        case .connectionLost: return .ended(.unknown(.connectionLost))
        case .overdue(mayHaveBeenSent: false): return .ended(.notProcessed(.overdue))
        case .overdue(mayHaveBeenSent: true):
            lateCount += 1
            self[ticket].phase = .late
            return .ended(.unknown(.overdue))
        case .withdrawn: return .ended(.withdrawn)
        }
    }

    /// Ends the request with its answer, or sends it again if the answer asks for it and the limits permit it.
    private mutating func handleAnswer(
        to ticket: PoolTicket, effect: ResponseEffect, on connection: Int?, at now: Instant
    ) -> PoolVerdict {
        if let connection { apply(effect, toConnection: connection, at: now) }
        // Each cause of a retry has its own limit, and `attemptsLeft` limits all of them together.
        switch effect {
        case .nothing, .authorizes, .serverTrouble: return .ended(.answered)
        case .connectionUnusable:
            self[ticket].connectionSwitches += 1
            if self[ticket].connectionSwitches > settings.connectionSwitchesMax {
                return .ended(.answered)
            }
        case .tokenExpired, .tooManyTokens:
            if self[ticket].hasRetriedToken { return .ended(.answered) }
            self[ticket].hasRetriedToken = true
        }
        guard self[ticket].attemptsLeft > 0, requeueIfInTime(ticket, at: now) else {
            return .ended(.answered)
        }
        self[ticket].attemptsLeft -= 1
        return .retry
    }

    /// Applies an answer to the connection that it arrived on.
    private mutating func apply(_ effect: ResponseEffect, toConnection index: Int, at now: Instant) {
        connections[index].recordAnswer(isServerError: effect == .serverTrouble, settings: settings, at: now)
        switch effect {
        case .nothing, .serverTrouble, .tokenExpired(isRemade: true): break
        case .authorizes:
            backoff.recordSuccess()
            connections[index].isAuthorized = true
        case .connectionUnusable, .tooManyTokens, .tokenExpired(isRemade: false):
            retire(connectionIndex: index, at: now)
        }
    }

    /// Lets the request wait again. Returns false if it is too late, or the pool stops.
    private mutating func requeueIfInTime(_ ticket: PoolTicket, at now: Instant) -> Bool {
        guard !isStopped, now < self[ticket].sendBy else { return false }
        requeue(ticket)
        return true
    }

    /// Lets the request back off, or ends it after too many refusals.
    private mutating func handleRefusal(of ticket: PoolTicket, at now: Instant) -> PoolVerdict {
        guard !isStopped else { return .ended(.notProcessed(.stopped)) }
        self[ticket].refusals += 1
        guard self[ticket].refusals <= settings.refusalsMax else { return .ended(.notProcessed(.refused)) }
        let pauseMilliseconds = jitter.milliseconds(in: settings.refusalPauseMilliseconds)
        self[ticket].phase = .backingOff
        self[ticket].backOffUntil = now.advanced(byMilliseconds: pauseMilliseconds)
        backingOffCount += 1
        return .retry
    }

    // MARK: Overdue requests

    /// Handles an outcome after the request was reported as unknown.
    private mutating func endLate(
        _ ticket: PoolTicket, with outcome: PoolOutcome, on connection: Int?, at now: Instant
    ) -> PoolVerdict {
        guard case .answered(let effect) = outcome else { return .stale }
        if let connection {
            connections[connection].overdueStreams -= 1
            connections[connection].isBlocked = false
            connections[connection].consecutiveOverdues = 0
            apply(effect, toConnection: connection, at: now)
        }
        lateCount -= 1
        release(ticket.index)
        return .lateAnswer
    }

    /// Handles the close of a stream without an answer, after its request was reported as overdue or
    /// withdrawn. The stream is free again, and no answer can follow for an overdue request.
    package mutating func handleFreedStream(of ticket: PoolTicket, on number: UInt32) -> PoolVerdict {
        guard let connection = index(of: number) else { return .stale }
        connections[connection].isBlocked = false
        guard isCurrent(ticket), self[ticket].phase == .late else {
            connections[connection].abandonedStreams -= 1
            return .stale
        }
        connections[connection].overdueStreams -= 1
        lateCount -= 1
        release(ticket.index)
        return .noLateAnswer
    }
}
