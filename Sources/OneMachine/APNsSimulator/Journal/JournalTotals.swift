internal import APNs
internal import HTTP2
internal import Identifiers

/// The counts from which the `JournalSummary` is made. To find duplicates it has tables with the ids and targets
/// of all accepted pushes. It is not copyable, because a copy of the tables would block the simulator's loop.
///
/// Counting is delayed where that makes it faster: a run of equal answers is added when it ends, and ids and
/// targets are counted in batches. `summary` first counts those that wait.
struct JournalTotals: ~Copyable {
    private var totals = JournalSummary()
    private var run = AnswerRun(kind: JournalSummary.AnswerKind(status: 200))
    /// Accepted pushes whose ids and targets are not counted yet.
    private var accepted: [AcceptedKeys] = []
    /// The number of accepted pushes with each id.
    private var ids: CountTable
    /// The number of accepted pushes to each target.
    private var targets: CountTable

    /// Consecutive answers of one kind. Runs are long, and a lookup of the kind for each answer would cost as much
    /// as all other counting here.
    private struct AnswerRun {
        let kind: JournalSummary.AnswerKind
        var count = 0
    }

    /// An accepted push, with its keys in the two tables.
    private struct AcceptedKeys {
        let id: PushID
        let idKey: Key128
        let target: AcceptedPush.Target?
        let targetKey: Key128

        init(id: PushID, target: AcceptedPush.Target?) {
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

    init(limits: JournalLimits) {
        ids = CountTable(keysMax: limits.trackedIDsMax)
        targets = CountTable(keysMax: limits.trackedTargetsMax)
    }

    /// The totals, including the counts that wait.
    var summary: JournalSummary {
        mutating get {
            countAccepted()
            totals.countAnswers(run.kind, count: run.count)
            run.count = 0
            return totals
        }
    }

    var duplicatePushes: Int {
        mutating get {
            countAccepted()
            return totals.duplicatePushes
        }
    }

    /// Counts a request and its outcome.
    mutating func add(_ entry: JournalEntry) {
        totals.requests += 1
        if entry.isDelivered { totals.delivered += 1 }
        switch entry.outcome {
        case .notProcessed: totals.notProcessed += 1
        case .silence: totals.unanswered += 1
        case .reset(let code): totals.countReset(code)
        case .answered(let status, let reason, let isSent):
            if !isSent { totals.answersLost += 1 }
            countAnswer(JournalSummary.AnswerKind(status: status, reason: reason))
            let isPush = entry.facts.kind == .push || entry.facts.kind == .broadcast
            if isPush, status == 200 {
                enqueue(AcceptedKeys(id: entry.id, target: entry.facts.target))
            }
        }
    }

    /// Queues a push and prefetches its entries in the tables. When the batch is counted, they are in the
    /// processor's caches.
    private mutating func enqueue(_ push: AcceptedKeys) {
        ids.prefetch(push.idKey)
        targets.prefetch(push.targetKey)
        accepted.append(push)
        if accepted.count >= Self.acceptedMax { countAccepted() }
    }

    /// Counts the ids and targets of the pushes that wait.
    private mutating func countAccepted() {
        for index in accepted.indices {
            countID(accepted[index].id, key: accepted[index].idKey)
            if let target = accepted[index].target { countTarget(target, key: accepted[index].targetKey) }
        }
        accepted.removeAll(keepingCapacity: true)
    }

    /// Counts an answer in the current run, or ends the run and begins another.
    private mutating func countAnswer(_ kind: JournalSummary.AnswerKind) {
        if kind != run.kind {
            totals.countAnswers(run.kind, count: run.count)
            run = AnswerRun(kind: kind)
        }
        run.count += 1
    }

    private mutating func countID(_ id: PushID, key: Key128) {
        guard let times = ids.increment(key) else {
            totals.idsNotTracked += 1
            return
        }
        if times > 1 { totals.countDuplicate(id, times: times) }
    }

    private mutating func countTarget(_ target: AcceptedPush.Target, key: Key128) {
        guard let pushes = targets.increment(key) else {
            totals.targetsNotTracked += 1
            return
        }
        totals.targetsSeen = targets.count
        if pushes > totals.pushesPerTargetMax {
            totals.pushesPerTargetMax = pushes
            totals.busiestTarget = target
        }
    }
}

extension JournalSummary {
    fileprivate mutating func countReset(_ code: HTTP2ErrorCode) {
        if resets[code] != nil || resets.count < Self.kindsMax {
            resets[code, default: 0] += 1
        } else {
            otherOutcomes += 1
        }
    }

    fileprivate mutating func countAnswers(_ kind: AnswerKind, count: Int) {
        guard count > 0 else { return }
        if answered[kind] != nil || answered.count < Self.kindsMax {
            answered[kind, default: 0] += count
        } else {
            otherOutcomes += count
        }
    }

    /// Counts a push whose id was accepted before.
    /// - Parameter times: number of accepted pushes with this id, including this one.
    fileprivate mutating func countDuplicate(_ id: PushID, times: Int) {
        duplicatePushes += 1
        let isNewDuplicate = times == 2
        if isNewDuplicate {
            duplicateIDs += 1
            if duplicatesListed.count < Self.duplicatesListedMax {
                duplicatesListed.append(DuplicateID(id: id, times: 2))
            }
        } else if let index = duplicatesListed.firstIndex(where: { $0.id == id }) {
            duplicatesListed[index].times = times
        }
    }
}
