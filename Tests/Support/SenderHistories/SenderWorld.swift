internal import APNs
internal import JSON
internal import Lifecycle
internal import LiveActivity
internal import Sender
internal import Simulation

/// A fan-out, a cluster, APNs and some sender processes, in which events and faults come in random order. It
/// knows the true state of every job and reports each fault at once.
final class SenderWorld {
    static let lanes: [Int32] = [0, 1]
    static let installations = 4

    var random: SeededGenerator
    var kafka = WorldKafka(lanes: SenderWorld.lanes.count)
    var processes: [WorldProcess] = []
    var notes: [SupersededVersions] = []
    var jobs: [WorldJobName: WorldJob] = [:]
    var faults: [String] = []
    var now = Instant(nanoseconds: 1_000_000_000_000)
    var wall: Int64 = 1_763_600_000_000
    var isCalm = false
    /// The trouble of the app `wrong`.
    var appFault = AppFault.none
    /// Whether the network is cut: no request reaches APNs, and no answer comes back.
    var isCut = false
    /// Whether the delay of other apps is measured, so that time passes in small steps.
    var isJudging = false
    let mayDie: Bool
    /// Whether pushes go through the real pools.
    let isJoined: Bool
    let limits: SenderLimits
    /// Frequency of rebalances, and number of sheets.
    private let unrest: Int
    private let load: Int
    /// Records that left a process before it was killed, with their time of arrival.
    private var late: [(due: Instant, write: RecordToWrite)] = []
    private let reader = JSONReader()
    var version: Int64 = 100
    private var isRebalancing = false
    private var nextProcess = 0
    /// Upper bound of pushes that deaths may have duplicated.
    var doubtsOfDeaths = 0
    var deaths = 0
    var failures = 0
    var met: Set<ReceiptOutcome> = []
    /// The content of `receipts` about each job.
    var standings: [WorldJobName: Standing] = [:]

    init(seed: UInt64, mayDie: Bool = true, isJoined: Bool = false) {
        random = SeededGenerator(seed)
        (self.mayDie, self.isJoined) = (mayDie, isJoined)
        var limits = SenderLimits()
        limits.permitsMax = 5
        limits.window = Int64(1 + random.below(5))
        limits.receiptsBehindMax = 3
        limits.sheetBytesMax = 12_000
        self.limits = limits
        unrest = random.below(4)
        load = 12 + random.below(2) * 24
        for _ in 0..<2 { addProcess() }
        rebalance()
    }

    func fault(_ text: String) { if faults.count < 5 { faults.append(text) } }
    func chance(_ percent: Int) -> Bool { random.below(100) < percent }
    /// Returns true with a probability. In calm it is always true, so that pending work happens at once.
    func likely(_ percent: Int) -> Bool { isCalm || chance(percent) }
    var time: CurrentTime { CurrentTime(now: now, unixMilliseconds: wall) }

    private func addProcess() {
        processes.append(WorldProcess(nextProcess, limits, seed: random.next(), at: now))
        nextProcess += 1
    }

    func pass(_ milliseconds: Int) {
        now = now.advanced(byMilliseconds: milliseconds)
        wall += Int64(milliseconds)
    }

    // MARK: A step

    func step() {
        // Sometimes nothing happens for long, so that tiers and sessions end meanwhile.
        let pause = random.below(isJudging ? 200 : isCalm ? 7_000 : chance(4) ? 8_000 : 120)
        pass(isAnythingOut ? min(pause, Self.heardMilliseconds) : pause)
        switch random.below(100) {
        case 0..<12: if !isCalm { for _ in 0..<load / 12 { makeSheet() } }
        case 12..<14: if !isCalm, let note = makeNote() { notes.append(note) }
        case 14: if !isCalm, mayDie { kill() }
        case 15: if !isCalm, mayDie { stop() }
        case 16: if !isCalm { rebalance() }
        case 17..<19: if !isCalm { changeFault() }
        default: break
        }
        if !isCalm, chance(unrest) { rebalance() }
        while let first = late.first, first.due <= now {
            late.removeFirst()
            _ = append(first.write)
        }
        for process in processes { live(process) }
        settleGroup()
    }

    /// A process that is not stopped gets the results of its actions within this time. Its successor waits
    /// for longer.
    private static let heardMilliseconds = 2_000

    private var isAnythingOut: Bool {
        processes.contains { $0.stoppedAt == nil && (!$0.flights.isEmpty || !$0.queue.isEmpty) }
    }

    private func live(_ process: WorldProcess) {
        if let since = process.stoppedAt {
            // The group removes the process when its session ends.
            if now.milliseconds(since: since) > 10_000, !process.lanes.isEmpty {
                process.lanes = []
                process.hasLost = true
            }
            guard likely(10) else { return }
            process.stoppedAt = nil
            if now.milliseconds(since: since) > 8_000, process.plan.lanesInHand > 0 {
                process.isSuspect = true
                for index in process.commits.indices { process.commits[index].isBeforeStop = true }
                process.plan.suspended()
            }
        }
        if likely(70) { poll(process) }
        if isJoined { livePools(process) }
        for _ in 0..<(isCalm ? 6 : 3) where !isJoined && !isCut { if likely(60) { answer(process) } }
        if likely(60) { store(process) }
        if likely(60) { acknowledge(process) }
        if likely(60) { commit(process) }
        if !isJoined, likely(50) { leave(process) }
        turn(process)
    }

    // MARK: Kafka

    private func poll(_ process: WorldProcess) {
        process.lastPoll = now
        // The library notices the loss when it has contacted the group again.
        if process.hasLost, likely(40) {
            process.hasLost = false
            process.epoch += 1
            process.isSuspect = false
            process.plan.lost(at: time)
            take(process)
        }
        process.plan.leased(until: process.lease)
        while process.notesRead < notes.count, likely(70) {
            process.plan.superseded(notes[process.notesRead], at: time)
            process.notesRead += 1
        }
        if process.notesRead == notes.count { process.plan.supersededIsRead() }
        readReceipts(process)
        take(process)
        for lane in process.lanes.sorted() {
            for topic in JobTopic.allCases { deliver(process, WorldKafka.Place(lane: lane, topic: topic)) }
        }
    }

    /// Delivers some of the requested receipts as a consumer does: in pieces, and some of them twice.
    private func readReceipts(_ process: WorldProcess) {
        for lane in process.reading.lanesWithoutEnd where process.lanes.contains(lane) {
            process.reading.begin(lane: lane, low: 0, high: kafka.receiptsEnd(lane))
        }
        for start in process.reading.starts where process.lanes.contains(start.lane) {
            let end = kafka.receiptsEnd(start.lane)
            var offset = chance(10) ? max(0, start.offset - 2) : start.offset
            for _ in 0..<1 + random.below(40) where offset < end {
                if process.reading.accepts(lane: start.lane, at: offset) {
                    found(process, start.lane, at: offset)
                }
                offset += 1
            }
            if offset == end { process.reading.reachedEnd(lane: start.lane, at: end) }
        }
        for whole in process.reading.takeEnded() {
            process.toldUntil[whole.lane] = whole.offset
            process.plan.foundAll(lane: whole.lane, end: whole.offset, at: time)
        }
    }

    private func found(_ process: WorldProcess, _ lane: Int32, at offset: Int64) {
        do {
            let receipt = try Receipt.decode(kafka.receipts[Int(lane)][Int(offset)], with: reader)
            process.plan.found(receipt, lane: lane)
        } catch {
            fault("a receipt cannot be read: \(error)")
        }
    }

    private func deliver(_ process: WorldProcess, _ place: WorldKafka.Place) {
        for _ in 0..<1 + random.below(3) {
            let position = process.positions[place.index]
            if process.paused[place.index] { return }
            guard position < kafka.end(place) else {
                return process.plan.reachedEnd(of: place.topic, lane: place.lane, at: position)
            }
            process.positions[place.index] = position + 1
            switch kafka.sheets[place.index][Int(position)] {
            case .marker: break
            case .nonsense:
                let malformed = MalformedSheet(
                    topic: place.topic, offset: position, error: .noJobs, key: nil, value: [], headers: [],
                    writtenAt: wall)
                process.plan.arrived(malformed, lane: place.lane, at: time)
            case .sheet(let record):
                process.plan.arrived(record, from: place.topic, lane: place.lane, offset: position, at: time)
            }
            // Sometimes the client goes back.
            if chance(2) { process.positions[place.index] = max(0, position - 1) }
            take(process)
        }
    }

    /// Stores records in the cluster, in their order.
    private func store(_ process: WorldProcess) {
        while let (id, write) = process.queue.first, likely(80) {
            process.queue.removeFirst()
            if !isCalm, chance(3) {
                failures += 1
                // The write is given up, but the record may be stored.
                if chance(50) { _ = append(write) }
                process.plan.writeFailed(id)
                take(process)
                return
            }
            process.stored.append((id, append(write)))
        }
    }

    private func append(_ write: RecordToWrite) -> Int64 {
        switch write.content {
        case .receipt:
            guard let receipt = write.receipt else { return -1 }
            check(receipt, write)
            note(receipt, at: kafka.receiptsEnd(write.lane))
            kafka.receipts[Int(write.lane)].append(receipt.encoded())
            return kafka.receiptsEnd(write.lane) - 1
        case .tier(let tier, let origin):
            guard let sheet = write.sheet else { return -1 }
            let place = WorldKafka.Place(
                lane: write.lane, topic: tier == .seconds5 ? .later5s : .later2m)
            var content = sheet.content
            content.to = sheet.content.lines(write.lines, by: sheet.index)
            do { return try kafka.append(content, origin: origin, to: place) } catch {
                fault("a tier's sheet cannot be read: \(error)")
                return -1
            }
        case .deadLetter:
            kafka.letters += 1
            return Int64(kafka.letters)
        case .malformed:
            kafka.letters += 1
            return Int64(kafka.letters)
        }
    }

    private func acknowledge(_ process: WorldProcess) {
        while let (id, offset) = process.stored.first, likely(80) {
            process.stored.removeFirst()
            process.plan.stored(id, offset: chance(95) ? offset : nil, at: time)
            take(process)
        }
    }

    private func commit(_ process: WorldProcess) {
        for index in process.commits.indices where process.commits[index].isDone == nil {
            guard process.lastCommit != nil || likely(80) else { break }
            process.commits[index].isDone = takes(process.commits[index], of: process)
        }
        while let commit = process.commits.first, let isDone = commit.isDone, likely(70) {
            process.commits.removeFirst()
            tell(process, of: commit, isDone)
        }
        guard let last = process.lastCommit else { return }
        process.lastCommit = nil
        tell(process, of: last, takes(last, of: process))
    }

    private func tell(_ process: WorldProcess, of commit: WorldProcess.PendingCommit, _ isDone: Bool) {
        if isDone, !commit.isBeforeStop { process.isSuspect = false }
        process.plan.committed(commit.number, isDone: isDone, at: time)
        take(process)
    }

    /// Returns whether the group accepts the commit. It accepts a commit whole or not at all, and only from
    /// the owner of the lanes since before the request.
    private func takes(_ commit: WorldProcess.PendingCommit, of process: WorldProcess) -> Bool {
        let isOwner =
            commit.epoch == process.epoch && commit.offsets.allSatisfy { process.lanes.contains($0.lane) }
        guard isOwner, isCalm || !chance(10) else { return false }
        for offset in commit.offsets { take(offset) }
        return true
    }

    private func take(_ commit: DeliveryActions.OffsetCommit) {
        let place = WorldKafka.Place(lane: commit.lane, topic: commit.topic)
        let before = kafka.committed[place.index]?.offset ?? 0
        if commit.offset < before { fault("offset \(commit.offset) was committed after \(before)") }
        checkCommit(place, from: before, to: commit.offset)
        kafka.committed[place.index] = (commit.offset, commit.metadata.text)
    }

    // MARK: The group

    func rebalance() {
        isRebalancing = true
        revoke()
    }

    private func revoke() {
        for process in processes
        where process.stoppedAt == nil && !process.lanes.isEmpty && !process.isLeaving && !process.hasLost {
            process.plan.revoked(by: now.advanced(byMilliseconds: 10_000), at: time)
            process.isLeaving = true
            take(process)
        }
    }

    private func settleGroup() {
        for process in processes where process.isLeaving && process.hasReleased {
            process.lanes = []
            process.epoch += 1
            process.isLeaving = false
        }
        for process in processes { process.hasReleased = false }
        if isRebalancing { revoke() }
        guard isRebalancing, processes.allSatisfy({ $0.lanes.isEmpty }) else {
            let owned = processes.reduce(0) { $0 + $1.lanes.count }
            if !isRebalancing, owned < Self.lanes.count { rebalance() }
            return
        }
        let members = processes.filter { $0.stoppedAt == nil && !$0.hasLost }
        guard !members.isEmpty else { return }
        isRebalancing = false
        for lane in Self.lanes {
            let member = members[random.below(members.count)]
            member.lanes.insert(lane)
        }
        for member in members where !member.lanes.isEmpty {
            let starts = member.lanes.sorted().map(kafka.start)
            for start in starts {
                member.toldUntil[start.lane] = kafka.receiptsEnd(start.lane)
                for topic in JobTopic.allCases {
                    let place = WorldKafka.Place(lane: start.lane, topic: topic)
                    member.positions[place.index] = start.partitions[topic.rawValue].base
                    member.paused[place.index] = true
                }
            }
            member.lastPoll = now
            // An assignment proves the ownership of the lanes, as in `AssignmentState`.
            member.isSuspect = false
            member.epoch += 1
            member.plan.assigned(starts)
            take(member)
        }
    }

    /// Handles a SIGKILL: only records and requests that have left the process survive.
    private func kill() {
        let index = random.below(processes.count)
        let process = processes[index]
        deaths += 1
        doubtsOfDeaths += limits.permitsMax
        while let (_, write) = process.queue.first, chance(50) {
            process.queue.removeFirst()
            _ = append(write)
        }
        // Before the group notices the death, it still accepts commits that were sent.
        for commit in process.commits where commit.isDone == nil {
            guard chance(50) else { break }
            _ = takes(commit, of: process)
        }
        // Records on the way may be stored a moment later, in less time than a successor waits.
        let due = now.advanced(byMilliseconds: random.below(2_000))
        while let (_, write) = process.queue.first, chance(50) {
            process.queue.removeFirst()
            late.append((max(due, late.last?.due ?? due), write))
        }
        die(process)
        processes.remove(at: index)
        addProcess()
        isRebalancing = isRebalancing || !process.lanes.isEmpty
        if isRebalancing { rebalance() }
    }

    private func stop() {
        let process = processes[random.below(processes.count)]
        guard process.stoppedAt == nil, !process.isLeaving else { return }
        process.stoppedAt = now
        deaths += 1
        doubtsOfDeaths += limits.permitsMax
    }

    // MARK: A process

    private struct Room: Hashable {
        let app: AppEnvironment
        let isSuspect: Bool
    }

    func turn(_ process: WorldProcess) {
        let isOpen = { [self] (app: String) in
            if app == "wrong", appFault == .silence { return random.below(2) }
            return isCalm ? 4 : random.below(4)
        }
        var rooms: [Room: Int] = [:]
        process.plan.turn(at: time) { sheet, isSuspect in
            if sheet.head.app == "wrong", appFault == .noKey { return .closed(reason: "no_provider_key") }
            let room =
                isJoined
                ? pool(process, sheet.head.app, isSuspect: isSuspect).pool.capacity : isOpen(sheet.head.app)
            if rooms[Room(app: sheet.app.name, isSuspect: isSuspect)] == nil {
                rooms[Room(app: sheet.app.name, isSuspect: isSuspect)] = room
            }
            return .open(capacity: room)
        }
        for push in process.plan.actions.pushes {
            rooms[Room(app: push.sheet.app.name, isSuspect: push.isSuspect), default: 0] -= 1
        }
        if rooms.values.contains(where: { $0 < 0 }) { fault("more pushes than the connections take") }
        take(process)
        if process.plan.permitsTaken > limits.permitsMax { fault("more pushes than permits") }
    }

    /// Carries out the plan's actions.
    private func take(_ process: WorldProcess) {
        let actions = process.plan.actions
        process.plan.actions.removeAll()
        for push in actions.pushes { begin(process, push) }
        if isJoined, !actions.withdrawals.isEmpty { withdrawAll(process) }
        for tag in actions.withdrawals where !isJoined {
            guard let index = process.flights.firstIndex(where: { $0.tag == tag && $0.fate == .waiting })
            else { continue }
            process.flights.remove(at: index)
            process.plan.ended(tag, as: PushAnswer(.withdrawn), at: time)
        }
        process.queue += actions.writes
        for read in actions.reads { process.reading.ask(lane: read.lane, from: read.from) }
        for flow in actions.pauses {
            process.paused[WorldKafka.Place(lane: flow.lane, topic: flow.topic).index] = true
        }
        for resume in actions.resumes {
            let place = WorldKafka.Place(lane: resume.lane, topic: resume.topic)
            process.paused[place.index] = false
            if let from = resume.from { process.positions[place.index] = from }
        }
        if !actions.commits.isEmpty || actions.isLastCommit {
            let commit = WorldProcess.PendingCommit(
                number: actions.commitNumber, offsets: actions.commits, epoch: process.epoch)
            if actions.isLastCommit { process.lastCommit = commit } else { process.commits.append(commit) }
        }
        if actions.isReleased {
            process.hasReleased = true
            process.reading.forgetAll()
        }
        for token in actions.deadTokens
        where token.sheet.head.app == "wrong" && token.reason != "Unregistered" {
            fault("a wrong setting costs a token")
        }
        if process.plan.actions.hasAny { take(process) }
    }
}

extension DeliveryActions {
    fileprivate var hasAny: Bool {
        !pushes.isEmpty || !withdrawals.isEmpty || !writes.isEmpty || !reads.isEmpty || !pauses.isEmpty
            || !resumes.isEmpty || !commits.isEmpty || isLastCommit || isReleased
    }
}
