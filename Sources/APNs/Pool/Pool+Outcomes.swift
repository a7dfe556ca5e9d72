package import Lifecycle

/// What an outcome does to its request and to its connection.
extension Pool {
    package mutating func ended(_ ticket: PoolTicket, _ outcome: PoolOutcome, at now: Instant) -> PoolVerdict
    {
        guard isCurrent(ticket) else { return .stale }
        let connection = index(of: requests[Int(ticket.index)].connection)
        switch requests[Int(ticket.index)].phase {
        case .open: break
        case .late: return endedLate(ticket, outcome, connection)
        case .free, .waiting, .resting: return .stale
        }
        if let connection {
            connections[connection].live -= 1
            connections[connection].isBlocked = false
        }
        let verdict = judge(ticket, outcome, connection, at: now)
        if case .ended(let end) = verdict, end != .unknown(.overdue) { release(ticket.index) }
        return verdict
    }

    private mutating func judge(
        _ ticket: PoolTicket, _ outcome: PoolOutcome, _ connection: Int?, at now: Instant
    ) -> PoolVerdict {
        switch outcome {
        case .answered(let effect): return answered(ticket, effect, connection, at: now)
        case .notProcessed: return goAgain(ticket, at: now) ? .again : .ended(.notProcessed(.overdue))
        case .refused: return refused(ticket, at: now)
        case .reset(let isCalm):
            if isCalm, let connection { connections[connection].halveWindow(settings, at: now) }
            return .ended(.unknown(.reset))
        case .connectionLost: return .ended(.unknown(.connectionLost))
        case .overdue(hasLeft: false): return .ended(.notProcessed(.overdue))
        case .overdue(hasLeft: true):
            guard let connection else {
                release(ticket.index)
                return .ended(.unknown(.overdue))
            }
            connections[connection].late += 1
            lateCount += 1
            requests[Int(ticket.index)].phase = .late
            requests[Int(ticket.index)].due =
                now.advanced(byMilliseconds: settings.lateAnswerMilliseconds)
            return .ended(.unknown(.overdue))
        case .withdrawn: return .ended(.withdrawn)
        }
    }

    private mutating func answered(
        _ ticket: PoolTicket, _ effect: AnswerEffect, _ connection: Int?, at now: Instant
    ) -> PoolVerdict {
        let hasRetried = requests[Int(ticket.index)].hasRetriedToken
        switch effect {
        case .nothing: return .ended(.answered)
        case .authorises:
            if let connection { authorised(connection) }
            return .ended(.answered)
        case .connectionOver:
            if let connection { retire(connection, at: now) }
            requests[Int(ticket.index)].moves += 1
            if requests[Int(ticket.index)].moves > settings.movesMax { return .ended(.answered) }
        case .tokenExpired(let isRemade):
            if !isRemade, let connection { retire(connection, at: now) }
            if hasRetried { return .ended(.answered) }
            requests[Int(ticket.index)].hasRetriedToken = true
        case .tokenTooMany:
            if let connection { retire(connection, at: now) }
            if hasRetried { return .ended(.answered) }
            requests[Int(ticket.index)].hasRetriedToken = true
        }
        return goAgain(ticket, at: now) ? .again : .ended(.answered)
    }

    private mutating func authorised(_ index: Int) {
        backoff.succeeded()
        connections[index].isAuthorised = true
    }

    private mutating func goAgain(_ ticket: PoolTicket, at now: Instant) -> Bool {
        guard now < requests[Int(ticket.index)].deadline else { return false }
        requeue(ticket)
        return true
    }

    private mutating func refused(_ ticket: PoolTicket, at now: Instant) -> PoolVerdict {
        let index = Int(ticket.index)
        requests[index].refusals += 1
        guard requests[index].refusals <= settings.refusalsMax else { return .ended(.notProcessed(.refused)) }
        requests[index].phase = .resting
        requests[index].due = now.advanced(
            byMilliseconds: jitter.milliseconds(in: settings.refusalMilliseconds))
        restingCount += 1
        return .again
    }

    private mutating func endedLate(
        _ ticket: PoolTicket, _ outcome: PoolOutcome, _ connection: Int?
    ) -> PoolVerdict {
        forgetLate(ticket.index, connection)
        guard case .answered(let effect) = outcome else { return .stale }
        if effect == .authorises, let connection { authorised(connection) }
        return .late
    }

    mutating func forgetLate(_ index: Int32, _ connection: Int?) {
        if let connection {
            connections[connection].late -= 1
            connections[connection].isBlocked = false
        }
        lateCount -= 1
        release(index)
    }
}
