internal import APNs
internal import JSON
internal import Jobs
internal import Lifecycle
internal import RecordFormat
internal import Sender
internal import Sends
internal import Simulation

/// A simulation of senders around the production's `DeliveryPlan`: a fan-out, a cluster, APNs and two sender processes.
/// Events and faults come in random order. The simulation knows the true state of every job, and records each fault of
/// the plan at once.
final class SenderSimulation {
    static let lanes: [Int32] = [0, 1]
    static let installations = 4
    /// The number of faults that are kept.
    private static let faultsMax = 5
    private static let sessionMilliseconds = 10_000
    private static let revocationMilliseconds = 10_000
    /// A process that was stopped for longer than this knows that its lease has ended.
    private static let suspensionMilliseconds = 8_000
    /// A process that is not stopped gets the results of its actions within this time. Its successor waits
    /// for longer.
    private static let resultMillisecondsMax = 2_000

    var random: SeededGenerator

    // The world.
    var kafka = SimulatedKafka(lanes: SenderSimulation.lanes.count)
    var processes: [SimulatedProcess] = []
    /// The notes about superseded versions that the fan-out has written.
    var notes: [SupersededVersions] = []
    var jobs: [SimulatedJobID: SimulatedJob] = [:]
    /// The version of the newest sheet.
    var version: Int64 = 100
    /// The steady clock, and the time in milliseconds since 1970.
    var now = Instant(nanoseconds: 1_000_000_000_000)
    var unixMilliseconds: Int64 = 1_763_600_000_000
    /// Records that left a process before it was killed, with their time of arrival.
    private var recordsInTransit: [(due: Instant, write: RecordToWrite)] = []
    private var isRebalancing = false
    private var processCount = 0
    private let reader = JSONReader()

    // The faults that the simulation causes.
    /// Whether the history is at its end: no new faults and no new sheets.
    var isCalm = false
    /// The fault of the app `wrong`.
    var appFault = AppFault.none
    /// Whether the network is cut: no request reaches APNs, and no answer comes back.
    var isNetworkCut = false
    /// Whether the delay of other apps is measured, so that time passes in small steps.
    var isMeasuringDelay = false
    let mayDie: Bool
    /// Whether pushes go through the production's pools.
    let usesRealPools: Bool
    let limits: SenderLimits
    private let rebalancePercent: Int
    /// Twelve times the number of sheets that the fan-out makes at a time.
    private let sheetLoad: Int

    // The knowledge for checks.
    /// The faults of the sender that were found.
    var faults: [String] = []
    /// The upper bound of pushes that deaths may have duplicated.
    var duplicatesMax = 0
    /// The number of processes that were killed or stopped.
    var deaths = 0
    /// The number of writes that a process gave up.
    var failures = 0
    var outcomes: Set<ReceiptOutcome> = []
    /// The content of `receipts` about each job.
    var receiptStates: [SimulatedJobID: ReceiptState] = [:]

    init(seed: UInt64, mayDie: Bool = true, usesRealPools: Bool = false) {
        random = SeededGenerator(seed: seed)
        (self.mayDie, self.usesRealPools) = (mayDie, usesRealPools)
        var limits = SenderLimits()
        limits.permitsMax = 5
        limits.window = Int64(1 + random.number(below: 5))
        limits.receiptsBehindMax = 3
        limits.sheetBytesMax = 12_000
        self.limits = limits
        rebalancePercent = random.number(below: 4)
        sheetLoad = 12 + random.number(below: 2) * 24
        for _ in 0..<2 { addProcess() }
        rebalance()
    }

    func recordFault(_ text: String) { if faults.count < Self.faultsMax { faults.append(text) } }
    /// Returns true with a probability.
    func occurs(percent: Int) -> Bool { random.number(below: 100) < percent }
    /// Returns true with a probability. In calm it is always true, so that pending work happens at once.
    func occursOrIsCalm(percent: Int) -> Bool { isCalm || occurs(percent: percent) }
    var time: CurrentTime { CurrentTime(now: now, unixMilliseconds: unixMilliseconds) }

    private func addProcess() {
        processes.append(SimulatedProcess(number: processCount, limits: limits, seed: random.next(), at: now))
        processCount += 1
    }

    func advance(milliseconds: Int) {
        now = now.advanced(byMilliseconds: milliseconds)
        unixMilliseconds += Int64(milliseconds)
    }

    // MARK: A step

    /// Lets some time pass, causes a random event, and advances each process.
    func step() {
        let pause = random.number(below: pauseMillisecondsMax())
        advance(milliseconds: hasOpenActions ? min(pause, Self.resultMillisecondsMax) : pause)
        // The percentages of the events. Most steps have none.
        switch random.number(below: 100) {
        case 0..<12: if !isCalm { for _ in 0..<sheetLoad / 12 { makeSheet() } }
        case 12..<14: if !isCalm, let note = makeNote() { notes.append(note) }
        case 14: if !isCalm, mayDie { killProcess() }
        case 15: if !isCalm, mayDie { stopProcess() }
        case 16: if !isCalm { rebalance() }
        case 17..<19: if !isCalm { changeFault() }
        default: break
        }
        if !isCalm, occurs(percent: rebalancePercent) { rebalance() }
        while let first = recordsInTransit.first, first.due <= now {
            recordsInTransit.removeFirst()
            _ = append(first.write)
        }
        for process in processes { advance(process) }
        settleGroup()
    }

    private func pauseMillisecondsMax() -> Int {
        if isMeasuringDelay { return 200 }
        if isCalm { return 7_000 }
        // Sometimes nothing happens for long, so that tiers and sessions end meanwhile.
        return occurs(percent: 4) ? 8_000 : 120
    }

    /// Whether a process that is not stopped waits for results.
    private var hasOpenActions: Bool {
        processes.contains {
            $0.stoppedAt == nil && (!$0.pushesInFlight.isEmpty || !$0.pendingWrites.isEmpty)
        }
    }

    /// Lets a process handle events, in the order of the worker's loop. Each kind of event may also wait.
    private func advance(_ process: SimulatedProcess) {
        if let stoppedAt = process.stoppedAt {
            let stoppedMilliseconds = now.milliseconds(since: stoppedAt)
            // The group removes the process when its session ends.
            if stoppedMilliseconds > Self.sessionMilliseconds, !process.lanes.isEmpty {
                process.lanes = []
                process.hasLostLanes = true
            }
            guard occursOrIsCalm(percent: 10) else { return }
            process.stoppedAt = nil
            if stoppedMilliseconds > Self.suspensionMilliseconds, process.plan.lanesInHand > 0 {
                process.isSuspect = true
                for index in process.commits.indices { process.commits[index].isBeforeStop = true }
                process.plan.suspended()
            }
        }
        if occursOrIsCalm(percent: 70) { poll(for: process) }
        if usesRealPools { advancePools(of: process) }
        for _ in 0..<(isCalm ? 6 : 3) where !usesRealPools && !isNetworkCut {
            if occursOrIsCalm(percent: 60) { endRandomPush(of: process) }
        }
        if occursOrIsCalm(percent: 60) { storeRecords(of: process) }
        if occursOrIsCalm(percent: 60) { acknowledgeRecords(of: process) }
        if occursOrIsCalm(percent: 60) { commitOffsets(of: process) }
        if !usesRealPools, occursOrIsCalm(percent: 50) { sendWaitingPushes(of: process) }
        runIteration(of: process)
    }

    // MARK: Kafka

    private func poll(for process: SimulatedProcess) {
        process.lastPoll = now
        // The library notices the loss when it has contacted the group again.
        if process.hasLostLanes, occursOrIsCalm(percent: 40) {
            process.hasLostLanes = false
            process.epoch += 1
            process.isSuspect = false
            process.plan.lost(at: time)
            performActions(of: process)
        }
        process.plan.leased(until: process.leaseEnd)
        while process.notesRead < notes.count, occursOrIsCalm(percent: 70) {
            process.plan.superseded(notes[process.notesRead], at: time)
            process.notesRead += 1
        }
        if process.notesRead == notes.count { process.plan.supersededIsRead() }
        readReceipts(for: process)
        performActions(of: process)
        for lane in process.lanes.sorted() {
            for topic in JobTopic.allCases {
                deliverSheets(to: process, from: SimulatedKafka.Partition(lane: lane, topic: topic))
            }
        }
    }

    /// Delivers some of the requested receipts as a consumer does: in pieces, and some of them twice.
    private func readReceipts(for process: SimulatedProcess) {
        for lane in process.receiptReads.lanesWithoutEnd where process.lanes.contains(lane) {
            process.receiptReads.begin(lane: lane, low: 0, high: kafka.receiptsEndOffset(ofLane: lane))
        }
        for start in process.receiptReads.starts where process.lanes.contains(start.lane) {
            let end = kafka.receiptsEndOffset(ofLane: start.lane)
            var offset = occurs(percent: 10) ? max(0, start.offset - 2) : start.offset
            for _ in 0..<1 + random.number(below: 40) where offset < end {
                if process.receiptReads.accepts(lane: start.lane, at: offset) {
                    deliverReceipt(to: process, lane: start.lane, at: offset)
                }
                offset += 1
            }
            if offset == end { process.receiptReads.reachedEnd(lane: start.lane, at: end) }
        }
        for finishedRead in process.receiptReads.takeEnded() {
            process.receiptsReadTo[finishedRead.lane] = finishedRead.offset
            process.plan.receiptsWereRead(lane: finishedRead.lane, until: finishedRead.offset, at: time)
        }
    }

    private func deliverReceipt(to process: SimulatedProcess, lane: Int32, at offset: Int64) {
        do {
            let receipt = try Receipt.decode(kafka.receipts[Int(lane)][Int(offset)], with: reader)
            process.plan.receiptWasRead(receipt, lane: lane)
        } catch {
            recordFault("a receipt cannot be read: \(error)")
        }
    }

    /// Delivers up to three records of a partition.
    private func deliverSheets(to process: SimulatedProcess, from partition: SimulatedKafka.Partition) {
        for _ in 0..<1 + random.number(below: 3) {
            let position = process.positions[partition.index]
            if process.paused[partition.index] { return }
            guard position < kafka.endOffset(of: partition) else {
                return process.plan.reachedEnd(of: partition.topic, lane: partition.lane, at: position)
            }
            process.positions[partition.index] = position + 1
            switch kafka.sheets[partition.index][Int(position)] {
            case .marker: break
            case .malformed:
                let malformed = MalformedSheet(
                    topic: partition.topic, offset: position, error: .noJobs, key: nil, value: [],
                    headers: [], writtenAt: unixMilliseconds)
                process.plan.arrived(malformed, lane: partition.lane, at: time)
            case .sheet(let record):
                process.plan.arrived(
                    record, from: partition.topic, lane: partition.lane, offset: position, at: time)
            }
            // Sometimes the client goes back.
            if occurs(percent: 2) { process.positions[partition.index] = max(0, position - 1) }
            performActions(of: process)
        }
    }

    /// Stores records in the cluster, in their order.
    private func storeRecords(of process: SimulatedProcess) {
        while let (id, write) = process.pendingWrites.first, occursOrIsCalm(percent: 80) {
            process.pendingWrites.removeFirst()
            if !isCalm, occurs(percent: 3) {
                failures += 1
                // The write is given up, but the record may be stored.
                if occurs(percent: 50) { _ = append(write) }
                process.plan.writeFailed(id)
                performActions(of: process)
                return
            }
            process.storedWrites.append((id, append(write)))
        }
    }

    /// Stores a record in its topic. Returns its offset.
    private func append(_ write: RecordToWrite) -> Int64 {
        switch write.content {
        case .receipt:
            guard let receipt = write.receipt else { return -1 }
            check(receipt, in: write)
            record(receipt, at: kafka.receiptsEndOffset(ofLane: write.lane))
            kafka.receipts[Int(write.lane)].append(receipt.encoded())
            return kafka.receiptsEndOffset(ofLane: write.lane) - 1
        case .tier(let tier, let origin):
            guard let sheet = write.sheet else { return -1 }
            let partition = SimulatedKafka.Partition(
                lane: write.lane, topic: tier == .seconds5 ? .later5s : .later2m)
            var content = sheet.content
            content.to = sheet.content.lines(write.lines, by: sheet.index)
            let unproven = write.lines.positions(of: sheet.unprovenLines)
            do { return try kafka.append(content, origin: origin, unproven: unproven, to: partition) } catch {
                recordFault("a tier's sheet cannot be read: \(error)")
                return -1
            }
        case .deadLetter, .malformed:
            kafka.deadLetterCount += 1
            return Int64(kafka.deadLetterCount)
        }
    }

    /// Tells the plan that records are stored. Sometimes the offset is unknown.
    private func acknowledgeRecords(of process: SimulatedProcess) {
        while let (id, offset) = process.storedWrites.first, occursOrIsCalm(percent: 80) {
            process.storedWrites.removeFirst()
            process.plan.stored(id, offset: occurs(percent: 95) ? offset : nil, at: time)
            performActions(of: process)
        }
    }

    /// Lets the group decide about requested commits, and tells the plan about decided ones. Either may wait.
    private func commitOffsets(of process: SimulatedProcess) {
        for index in process.commits.indices where process.commits[index].isDone == nil {
            guard process.lastCommit != nil || occursOrIsCalm(percent: 80) else { break }
            process.commits[index].isDone = accept(process.commits[index], of: process)
        }
        while let commit = process.commits.first, let isDone = commit.isDone, occursOrIsCalm(percent: 70) {
            process.commits.removeFirst()
            notify(process, of: commit, isDone: isDone)
        }
        guard let lastCommit = process.lastCommit else { return }
        process.lastCommit = nil
        notify(process, of: lastCommit, isDone: accept(lastCommit, of: process))
    }

    private func notify(_ process: SimulatedProcess, of commit: SimulatedProcess.PendingCommit, isDone: Bool)
    {
        if isDone, !commit.isBeforeStop { process.isSuspect = false }
        process.plan.committed(commit.number, isDone: isDone, at: time)
        performActions(of: process)
    }

    /// Returns whether the group accepts the commit. It accepts a commit whole or not at all, and only from
    /// the owner of the lanes since before the request.
    private func accept(_ commit: SimulatedProcess.PendingCommit, of process: SimulatedProcess) -> Bool {
        let isOwner =
            commit.epoch == process.epoch && commit.offsets.allSatisfy { process.lanes.contains($0.lane) }
        guard isOwner, isCalm || !occurs(percent: 10) else { return false }
        for offset in commit.offsets { apply(offset) }
        return true
    }

    private func apply(_ commit: DeliveryActions.OffsetCommit) {
        let partition = SimulatedKafka.Partition(lane: commit.lane, topic: commit.topic)
        let oldOffset = kafka.committed[partition.index]?.offset ?? 0
        if commit.offset < oldOffset {
            recordFault("offset \(commit.offset) was committed after \(oldOffset)")
        }
        checkCommit(of: partition, from: oldOffset, to: commit.offset)
        kafka.committed[partition.index] = (commit.offset, commit.metadata.text)
    }

    // MARK: The group

    /// Starts a rebalance: all processes give up their lanes.
    func rebalance() {
        isRebalancing = true
        revokeLanes()
    }

    private func revokeLanes() {
        for process in processes {
            let isReachable = process.stoppedAt == nil && !process.hasLostLanes
            guard isReachable, !process.lanes.isEmpty, !process.isReleasingLanes else { continue }
            process.plan.revoked(by: now.advanced(byMilliseconds: Self.revocationMilliseconds), at: time)
            process.isReleasingLanes = true
            performActions(of: process)
        }
    }

    /// Advances a rebalance: when no process has lanes, each lane goes to a random process.
    private func settleGroup() {
        for process in processes where process.isReleasingLanes && process.hasReleasedLanes {
            process.lanes = []
            process.epoch += 1
            process.isReleasingLanes = false
        }
        for process in processes { process.hasReleasedLanes = false }
        if isRebalancing { revokeLanes() }
        guard isRebalancing, processes.allSatisfy({ $0.lanes.isEmpty }) else {
            let ownedLanes = processes.reduce(0) { $0 + $1.lanes.count }
            if !isRebalancing, ownedLanes < Self.lanes.count { rebalance() }
            return
        }
        assignLanes()
    }

    private func assignLanes() {
        let members = processes.filter { $0.stoppedAt == nil && !$0.hasLostLanes }
        guard !members.isEmpty else { return }
        isRebalancing = false
        for lane in Self.lanes {
            let member = members[random.number(below: members.count)]
            member.lanes.insert(lane)
        }
        for member in members where !member.lanes.isEmpty {
            let starts = member.lanes.sorted().map(kafka.laneStart)
            for start in starts {
                member.receiptsReadTo[start.lane] = kafka.receiptsEndOffset(ofLane: start.lane)
                for topic in JobTopic.allCases {
                    let partition = SimulatedKafka.Partition(lane: start.lane, topic: topic)
                    member.positions[partition.index] = start.partitions[topic.rawValue].base
                    member.paused[partition.index] = true
                }
            }
            member.lastPoll = now
            // An assignment proves the ownership of the lanes, as in `AssignmentState`.
            member.isSuspect = false
            member.epoch += 1
            member.plan.assigned(starts)
            performActions(of: member)
        }
    }

    /// Handles a SIGKILL: only records and requests that have left the process survive.
    private func killProcess() {
        let index = random.number(below: processes.count)
        let process = processes[index]
        deaths += 1
        duplicatesMax += limits.permitsMax
        while let (_, write) = process.pendingWrites.first, occurs(percent: 50) {
            process.pendingWrites.removeFirst()
            _ = append(write)
        }
        // Before the group notices the death, it still accepts commits that were sent.
        for commit in process.commits where commit.isDone == nil {
            guard occurs(percent: 50) else { break }
            _ = accept(commit, of: process)
        }
        // Records on the way may be stored a moment later, in less time than a successor waits.
        let due = now.advanced(byMilliseconds: random.number(below: Self.resultMillisecondsMax))
        while let (_, write) = process.pendingWrites.first, occurs(percent: 50) {
            process.pendingWrites.removeFirst()
            recordsInTransit.append((max(due, recordsInTransit.last?.due ?? due), write))
        }
        deliverRequests(ofKilled: process)
        processes.remove(at: index)
        addProcess()
        isRebalancing = isRebalancing || !process.lanes.isEmpty
        if isRebalancing { rebalance() }
    }

    /// Stops a process as SIGSTOP does. It continues in `advance`.
    private func stopProcess() {
        let process = processes[random.number(below: processes.count)]
        guard process.stoppedAt == nil, !process.isReleasingLanes else { return }
        process.stoppedAt = now
        deaths += 1
        duplicatesMax += limits.permitsMax
    }

    // MARK: A process

    /// The connections of one app, or its connections for suspect tokens.
    private struct CapacityKey: Hashable {
        let app: AppEnvironment
        let isSuspect: Bool
    }

    /// Lets the plan make one iteration, and checks that it respects the capacities and the permits.
    func runIteration(of process: SimulatedProcess) {
        let freeStreams = { [self] (app: String) in
            if app == "wrong", appFault == .noAnswer { return random.number(below: 2) }
            return isCalm ? 4 : random.number(below: 4)
        }
        var capacities: [CapacityKey: Int] = [:]
        process.plan.turn(at: time) { sheet, isSuspect in
            if sheet.head.app == "wrong", appFault == .noKey { return .closed(reason: "no_provider_key") }
            let capacity =
                usesRealPools
                ? pool(of: process, app: sheet.head.app, isSuspect: isSuspect).stateMachine.capacity
                : freeStreams(sheet.head.app)
            let key = CapacityKey(app: sheet.app.name, isSuspect: isSuspect)
            if capacities[key] == nil { capacities[key] = capacity }
            return .open(capacity: capacity)
        }
        for push in process.plan.actions.pushes {
            capacities[CapacityKey(app: push.sheet.app.name, isSuspect: push.isSuspect), default: 0] -= 1
        }
        if capacities.values.contains(where: { $0 < 0 }) {
            recordFault("more pushes than the connections take")
        }
        performActions(of: process)
        if process.plan.permitsTaken > limits.permitsMax { recordFault("more pushes than permits") }
    }

    /// Carries out the plan's actions.
    private func performActions(of process: SimulatedProcess) {
        let actions = process.plan.actions
        process.plan.actions.removeAll()
        for push in actions.pushes { startPush(of: process, push: push) }
        if usesRealPools, !actions.withdrawals.isEmpty { withdrawAll(of: process) }
        for tag in actions.withdrawals where !usesRealPools {
            guard
                let index = process.pushesInFlight.firstIndex(where: { $0.tag == tag && $0.state == .waiting }
                )
            else { continue }
            process.pushesInFlight.remove(at: index)
            process.plan.ended(tag, as: PushAnswer(.withdrawn), at: time)
        }
        process.pendingWrites += actions.writes
        for read in actions.reads { process.receiptReads.planRead(lane: read.lane, from: read.from) }
        for flow in actions.pauses {
            process.paused[SimulatedKafka.Partition(lane: flow.lane, topic: flow.topic).index] = true
        }
        for resume in actions.resumes {
            let partition = SimulatedKafka.Partition(lane: resume.lane, topic: resume.topic)
            process.paused[partition.index] = false
            if let from = resume.from { process.positions[partition.index] = from }
        }
        if !actions.commits.isEmpty || actions.isLastCommit {
            let commit = SimulatedProcess.PendingCommit(
                number: actions.commitNumber, offsets: actions.commits, epoch: process.epoch)
            if actions.isLastCommit { process.lastCommit = commit } else { process.commits.append(commit) }
        }
        if actions.isReleased {
            process.hasReleasedLanes = true
            process.receiptReads.forgetAll()
        }
        for token in actions.deadTokens
        where token.sheet.head.app == "wrong" && token.reason != "Unregistered" {
            recordFault("a wrong setting costs a token")
        }
        for token in actions.provenTokens {
            let job = SimulatedJobID(
                position: token.sheet.originPosition, line: token.sheet.originLine(token.line))
            if jobs[job]?.processedCount == 0 { recordFault("a token is reported as proven that is not") }
            if !token.sheet.unprovenLines.contains(token.line) {
                recordFault("a proven token is reported as proven")
            }
        }
        if process.plan.actions.isNotEmpty { performActions(of: process) }
    }
}

extension DeliveryActions {
    fileprivate var isNotEmpty: Bool {
        !pushes.isEmpty || !withdrawals.isEmpty || !writes.isEmpty || !reads.isEmpty || !pauses.isEmpty
            || !resumes.isEmpty || !commits.isEmpty || isLastCommit || isReleased || !provenTokens.isEmpty
    }
}
