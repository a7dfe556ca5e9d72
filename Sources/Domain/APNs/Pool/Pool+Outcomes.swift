package import Lifecycle

/// Effects of an outcome on its request and its connection.
extension Pool {
    package mutating func ended(_ ticket: PoolTicket, _ outcome: PoolOutcome, at now: Instant) -> PoolVerdict
    {
        guard isCurrent(ticket) else { return .stale }
        let connection = index(of: requests[Int(ticket.index)].connection)
        switch requests[Int(ticket.index)].phase {
        case .open: break
        case .late: return endedLate(ticket, outcome, on: connection, at: now)
        case .free, .waiting, .resting: return .stale
        }
        if let connection { take(outcome, connection, at: now) }
        let verdict = judge(ticket, outcome, on: connection, at: now)
        if case .ended(let end) = verdict, end != .unknown(.overdue) { release(ticket.index) }
        return verdict
    }

    /// Applies the outcome to its connection.
    private mutating func take(_ outcome: PoolOutcome, _ index: Int, at now: Instant) {
        connections[index].live -= 1
        connections[index].isBlocked = false
        switch outcome {
        case .answered, .refused: connections[index].overdues = 0
        case .reset(let isCalm, _):
            connections[index].overdues = 0
            if isCalm { connections[index].calm(settings, at: now) }
        case .overdue(let hasLeft):
            if hasLeft { connections[index].late += 1 } else { connections[index].givenUp += 1 }
            connections[index].overdues += 1
            if connections[index].isDeaf(settings) { retire(index, at: now) }
        case .withdrawn: connections[index].givenUp += 1
        case .notProcessed, .connectionLost: break
        }
    }

    private mutating func judge(
        _ ticket: PoolTicket, _ outcome: PoolOutcome, on connection: Int?, at now: Instant
    ) -> PoolVerdict {
        switch outcome {
        case .answered(let effect): return answered(ticket, effect, on: connection, at: now)
        case .notProcessed:
            return goAgain(ticket, at: now)
                ? .again : .ended(.notProcessed(isStopped ? .stopped : .overdue))
        // If a stream is reset before the whole request was sent, APNs has not processed it, as after a
        // refusal.
        case .refused, .reset(_, hasLeft: false): return refused(ticket, at: now)
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

    private mutating func answered(
        _ ticket: PoolTicket, _ effect: AnswerEffect, on connection: Int?, at now: Instant
    ) -> PoolVerdict {
        let hasRetried = requests[Int(ticket.index)].hasRetriedToken
        if let connection { apply(effect, connection, at: now) }
        switch effect {
        case .nothing, .authorises, .serverTrouble: return .ended(.answered)
        case .connectionOver:
            requests[Int(ticket.index)].moves += 1
            if requests[Int(ticket.index)].moves > settings.movesMax { return .ended(.answered) }
        case .tokenExpired, .tokenTooMany:
            if hasRetried { return .ended(.answered) }
            requests[Int(ticket.index)].hasRetriedToken = true
        }
        guard requests[Int(ticket.index)].attemptsLeft > 0, goAgain(ticket, at: now) else {
            return .ended(.answered)
        }
        requests[Int(ticket.index)].attemptsLeft -= 1
        return .again
    }

    /// Applies an answer to the connection that it arrived on.
    private mutating func apply(_ effect: AnswerEffect, _ index: Int, at now: Instant) {
        connections[index].answered(isTrouble: effect == .serverTrouble, settings, at: now)
        switch effect {
        case .nothing, .serverTrouble, .tokenExpired(isRemade: true): break
        case .authorises:
            backoff.succeeded()
            connections[index].isAuthorised = true
        case .connectionOver, .tokenTooMany, .tokenExpired(isRemade: false): retire(index, at: now)
        }
    }

    private mutating func goAgain(_ ticket: PoolTicket, at now: Instant) -> Bool {
        guard !isStopped, now < requests[Int(ticket.index)].leaveBy else { return false }
        requeue(ticket)
        return true
    }

    private mutating func refused(_ ticket: PoolTicket, at now: Instant) -> PoolVerdict {
        let index = Int(ticket.index)
        guard !isStopped else { return .ended(.notProcessed(.stopped)) }
        requests[index].refusals += 1
        guard requests[index].refusals <= settings.refusalsMax else { return .ended(.notProcessed(.refused)) }
        requests[index].phase = .resting
        requests[index].due = now.advanced(
            byMilliseconds: jitter.milliseconds(in: settings.refusalMilliseconds))
        restingCount += 1
        return .again
    }

    private mutating func endedLate(
        _ ticket: PoolTicket, _ outcome: PoolOutcome, on connection: Int?, at now: Instant
    ) -> PoolVerdict {
        guard case .answered(let effect) = outcome else { return .stale }
        if let connection {
            connections[connection].late -= 1
            connections[connection].isBlocked = false
            connections[connection].overdues = 0
            apply(effect, connection, at: now)
        }
        lateCount -= 1
        release(ticket.index)
        return .late
    }

    /// Handles a closed stream whose request was already reported as overdue or withdrawn, and that got no
    /// answer. The stream is free again, and no answer can follow for an overdue request.
    package mutating func freed(_ ticket: PoolTicket, on number: UInt32) -> PoolVerdict {
        guard let connection = index(of: number) else { return .stale }
        connections[connection].isBlocked = false
        guard isCurrent(ticket), requests[Int(ticket.index)].phase == .late else {
            connections[connection].givenUp -= 1
            return .stale
        }
        connections[connection].late -= 1
        lateCount -= 1
        release(ticket.index)
        return .lateOver
    }
}
