internal import APNs
internal import HTTP2
internal import LiveActivity

/// Adds up what became of all requests. The tables stay here, on the simulator's loop: a copy of them
/// would cost the loop as much as they are large.
struct JournalTally: ~Copyable {
    private(set) var summary = JournalSummary()
    private var ids: CountTable
    private var targets: CountTable

    init(_ limits: JournalLimits) {
        ids = CountTable(keysMax: limits.idsMax)
        targets = CountTable(keysMax: limits.targetsMax)
    }

    mutating func add(_ entry: JournalEntry) {
        summary.requests += 1
        if entry.isDelivered { summary.delivered += 1 }
        switch entry.end {
        case .notProcessed: summary.notProcessed += 1
        case .silence: summary.silent += 1
        case .reset(let code): summary.countReset(code)
        case .answered(let status, let reason, let left):
            if !left { summary.answersLost += 1 }
            summary.countAnswer(JournalSummary.Answered(status: status, reason: reason))
            if status == 200, entry.facts.kind == .push || entry.facts.kind == .broadcast {
                countID(entry.id)
                if let target = entry.facts.target { count(target) }
            }
        }
    }

    private mutating func countID(_ id: PushID) {
        guard let times = ids.add(Key128(id)) else {
            summary.idsNotFollowed += 1
            return
        }
        if times > 1 { summary.countDoubled(id, times) }
    }

    private mutating func count(_ target: AcceptedPush.Target) {
        let key =
            switch target {
            case .token(let token): Key128(token.bytes)
            case .channel(let channel): Key128(channel)
            }
        guard let pushes = targets.add(key) else {
            summary.targetsNotFollowed += 1
            return
        }
        summary.targetsSeen = targets.count
        if pushes > summary.pushesPerTargetMax {
            summary.pushesPerTargetMax = pushes
            summary.busiestTarget = target
        }
    }
}

extension JournalSummary {
    fileprivate mutating func countReset(_ code: ErrorCode) {
        if resets[code] != nil || resets.count < Self.kindsMax {
            resets[code, default: 0] += 1
        } else {
            others += 1
        }
    }

    fileprivate mutating func countAnswer(_ kind: Answered) {
        if answered[kind] != nil || answered.count < Self.kindsMax {
            answered[kind, default: 0] += 1
        } else {
            others += 1
        }
    }

    fileprivate mutating func countDoubled(_ id: PushID, _ times: Int) {
        doubledPushes += 1
        if times == 2 {
            doubledIDs += 1
            if doubledListed.count < Self.doubledListedMax {
                doubledListed.append(Doubled(id: id, times: 2))
            }
        } else if let index = doubledListed.firstIndex(where: { $0.id == id }) {
            doubledListed[index].times = times
        }
    }
}
