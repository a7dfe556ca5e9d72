package import Lifecycle

/// Effects of an outcome on its request and its connection.
extension PoolStateMachine {
    package mutating func end(_ ticket: PoolTicket, with outcome: PoolOutcome, at now: Instant) -> PoolVerdict
    {
        guard isCurrent(ticket) else { return .stale }
        let connection = index(of: requests[Int(ticket.index)].connection)
        switch requests[Int(ticket.index)].phase {
        case .open: break
        case .late: return endLate(ticket, with: outcome, on: connection, at: now)
        case .free, .waiting, .backingOff: return .stale
        }
        if let connection { apply(outcome, toConnection: connection, at: now) }
        let verdict = decide(ticket, outcome: outcome, on: connection, at: now)
        if case .ended(let end) = verdict, end != .unknown(.overdue) { release(ticket.index) }
        return verdict
    }

    /// Applies the outcome to its connection.
    private mutating func apply(_ outcome: PoolOutcome, toConnection index: Int, at now: Instant) {
        connections[index].liveStreams -= 1
        connections[index].isBlocked = false
        switch outcome {
        case .answered, .refused: connections[index].consecutiveOverdues = 0
        case .reset(let isCalm, _):
            connections[index].consecutiveOverdues = 0
            if isCalm { connections[index].handleEnhanceYourCalm(settings: settings, at: now) }
        case .overdue(let hasLeft):
            if hasLeft {
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

    private mutating func decide(
        _ ticket: PoolTicket, outcome: PoolOutcome, on connection: Int?, at now: Instant
    ) -> PoolVerdict {
        switch outcome {
        case .answered(let effect): return handleAnswer(to: ticket, effect: effect, on: connection, at: now)
        case .notProcessed:
            return retry(ticket, at: now)
                ? .retry : .ended(.notProcessed(isStopped ? .stopped : .overdue))
        // If a stream is reset before the whole request was sent, APNs has not processed it, as after a
        // refusal.
        case .refused, .reset(_, hasLeft: false): return handleRefusal(of: ticket, at: now)
        case .reset: return .ended(.unknown(.reset))
        case .connectionLost: return .ended(.unknown(.connectionLost))
        case .overdue(hasLeft: false): return .ended(.notProcessed(.overdue))
        case .overdue(hasLeft: true):
            lateCount += 1
            requests[Int(ticket.index)].phase = .late
            return .ended(.unknown(.overdue))
        case .withdrawn: return .ended(.withdrawn)
        }
    }

    private mutating func handleAnswer(
        to ticket: PoolTicket, effect: ResponseEffect, on connection: Int?, at now: Instant
    ) -> PoolVerdict {
        let hasRetried = requests[Int(ticket.index)].hasRetriedToken
        if let connection { apply(effect, toConnection: connection, at: now) }
        switch effect {
        case .nothing, .authorizes, .serverTrouble: return .ended(.answered)
        case .connectionUnusable:
            requests[Int(ticket.index)].connectionSwitches += 1
            if requests[Int(ticket.index)].connectionSwitches > settings.connectionSwitchesMax {
                return .ended(.answered)
            }
        case .tokenExpired, .tooManyTokens:
            if hasRetried { return .ended(.answered) }
            requests[Int(ticket.index)].hasRetriedToken = true
        }
        guard requests[Int(ticket.index)].attemptsLeft > 0, retry(ticket, at: now) else {
            return .ended(.answered)
        }
        requests[Int(ticket.index)].attemptsLeft -= 1
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

    private mutating func retry(_ ticket: PoolTicket, at now: Instant) -> Bool {
        guard !isStopped, now < requests[Int(ticket.index)].sendBy else { return false }
        requeue(ticket)
        return true
    }

    private mutating func handleRefusal(of ticket: PoolTicket, at now: Instant) -> PoolVerdict {
        let index = Int(ticket.index)
        guard !isStopped else { return .ended(.notProcessed(.stopped)) }
        requests[index].refusals += 1
        guard requests[index].refusals <= settings.refusalsMax else { return .ended(.notProcessed(.refused)) }
        requests[index].phase = .backingOff
        requests[index].backOffUntil = now.advanced(
            byMilliseconds: jitter.milliseconds(in: settings.refusalPauseMilliseconds))
        backingOffCount += 1
        return .retry
    }

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

    /// Handles a closed stream whose request was already reported as overdue or withdrawn, and that got no
    /// answer. The stream is free again, and no answer can follow for an overdue request.
    package mutating func handleFreedStream(of ticket: PoolTicket, on number: UInt32) -> PoolVerdict {
        guard let connection = index(of: number) else { return .stale }
        connections[connection].isBlocked = false
        guard isCurrent(ticket), requests[Int(ticket.index)].phase == .late else {
            connections[connection].abandonedStreams -= 1
            return .stale
        }
        connections[connection].overdueStreams -= 1
        lateCount -= 1
        release(ticket.index)
        return .noLateAnswer
    }
}
