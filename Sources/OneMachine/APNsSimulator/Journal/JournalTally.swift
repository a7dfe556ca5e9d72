internal import APNs
internal import HTTP2
internal import LiveActivity

/// Computes the totals of all requests. The tables stay on the simulator's loop, because copying them would
/// block the loop.
struct JournalTally: ~Copyable {
    private var told = JournalSummary()
    /// The current run of answers of one kind. Equal answers come in long runs, and a run is added when it
    /// ends. Looking up a kind costs as much as all other counting here.
    private var run = (kind: JournalSummary.Answered(status: 200), count: 0)
    /// Accepted pushes whose ids and targets are not counted yet.
    private var accepted: [Accepted] = []
    private var ids: CountTable
    private var targets: CountTable

    /// A push to look up in two tables, each as large as the fleet.
    private struct Accepted {
        let id: PushID
        let idKey: Key128
        let target: AcceptedPush.Target?
        let targetKey: Key128

        init(_ id: PushID, _ target: AcceptedPush.Target?) {
            self.id = id
            self.target = target
            idKey = Key128(id)
            targetKey =
                switch target {
                case .token(let token): Key128(token.bytes)
                case .channel(let channel): Key128(channel)
                case nil: .none
                }
        }
    }

    /// Number of accepted pushes that are counted in one batch.
    private static let acceptedMax = 256

    init(_ limits: JournalLimits) {
        ids = CountTable(keysMax: limits.idsMax)
        targets = CountTable(keysMax: limits.targetsMax)
    }

    var summary: JournalSummary {
        mutating get {
            countAccepted()
            told.countAnswers(run.kind, run.count)
            run.count = 0
            return told
        }
    }

    var doubledPushes: Int {
        mutating get {
            countAccepted()
            return told.doubledPushes
        }
    }

    mutating func add(_ entry: JournalEntry) {
        told.requests += 1
        if entry.isDelivered { told.delivered += 1 }
        switch entry.end {
        case .notProcessed: told.notProcessed += 1
        case .silence: told.silent += 1
        case .reset(let code): told.countReset(code)
        case .answered(let status, let reason, let left):
            if !left { told.answersLost += 1 }
            countAnswer(JournalSummary.Answered(status: status, reason: reason))
            if status == 200, entry.facts.kind == .push || entry.facts.kind == .broadcast {
                expect(Accepted(entry.id, entry.facts.target))
            }
        }
    }

    /// Queues a push and prefetches the table entries that will count it.
    private mutating func expect(_ push: Accepted) {
        ids.prefetch(push.idKey)
        targets.prefetch(push.targetKey)
        accepted.append(push)
        if accepted.count >= Self.acceptedMax { countAccepted() }
    }

    private mutating func countAccepted() {
        for index in accepted.indices {
            countID(accepted[index].id, accepted[index].idKey)
            if let target = accepted[index].target { count(target, accepted[index].targetKey) }
        }
        accepted.removeAll(keepingCapacity: true)
    }

    private mutating func countAnswer(_ kind: JournalSummary.Answered) {
        if kind != run.kind {
            told.countAnswers(run.kind, run.count)
            run = (kind, 0)
        }
        run.count += 1
    }

    private mutating func countID(_ id: PushID, _ key: Key128) {
        guard let times = ids.add(key) else {
            told.idsNotFollowed += 1
            return
        }
        if times > 1 { told.countDoubled(id, times) }
    }

    private mutating func count(_ target: AcceptedPush.Target, _ key: Key128) {
        guard let pushes = targets.add(key) else {
            told.targetsNotFollowed += 1
            return
        }
        told.targetsSeen = targets.count
        if pushes > told.pushesPerTargetMax {
            told.pushesPerTargetMax = pushes
            told.busiestTarget = target
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

    fileprivate mutating func countAnswers(_ kind: Answered, _ count: Int) {
        guard count > 0 else { return }
        if answered[kind] != nil || answered.count < Self.kindsMax {
            answered[kind, default: 0] += count
        } else {
            others += count
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
