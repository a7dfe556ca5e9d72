internal import APNs
internal import JSON
internal import Jobs
internal import Lifecycle
internal import RecordFormat
internal import Sender
internal import Sends
internal import Simulation

/// A simulation of two sender processes around the production's `DeliveryPlan`, with a simulated fan-out, cluster and
/// APNs. It has no threads and no I/O. Everything random comes from one seed.
///
/// A history consists of steps (`step`). In a step some time passes, an event may happen, and each process works
/// through its loop in pieces. The simulation knows the true state of every job. If the plan breaks a rule, it reports
/// a violation at once. At the end (`settle`) all faults cease, and every job must get its final receipt.
final class SenderSimulation {
    static let lanes: [Int32] = [0, 1]
    static let installationCount = 4
    /// The app that never has a fault.
    static let soundApp = "shop"
    /// The app that has an `AppFault` at times. Its fault must not delay the other app.
    static let faultyApp = "wrong"
    /// The number of violations that are kept.
    private static let violationsMax = 5
    /// The group removes a process that it has not heard of for this time.
    private static let sessionMilliseconds = 10_000
    /// A process that was stopped for longer than this knows that its lease has ended.
    private static let suspensionMilliseconds = 8_000
    /// The longest time after which a process that is not stopped gets the results of its actions. The next owner of a
    /// lane relies on it: its wait for the earlier owner (`settling`) is longer.
    static let resultMillisecondsMax = 2_000

    var random: SeededGenerator

    // The cluster, the processes and the clocks.
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
    var recordsInTransit: [(due: Instant, write: RecordToWrite)] = []
    /// Whether the group is taking all lanes away, to assign them again.
    var isRebalancing = false
    private var processCount = 0
    let reader = JSONReader()

    // The faults that the simulation causes.
    /// Whether the history is at its end: no new faults and no new sheets.
    var isCalm = false
    /// The fault of the app `wrong`.
    var appFault = AppFault.none
    /// Whether the network is cut: no request reaches APNs, and no answer comes back.
    var isNetworkCut = false
    /// Whether a delay is measured, so that time passes in small steps.
    var isMeasuringDelay = false
    let kind: SenderHistory.Kind
    /// Whether processes are killed, and stopped for a while.
    let hasKillsAndStops: Bool
    /// Whether pushes go through the production's pools.
    let usesRealPools: Bool
    let limits: SenderLimits
    private let rebalancePercent: Int
    /// The number of sheets that the fan-out makes at a time.
    private let sheetsAtATime: Int

    // The knowledge for checks.
    /// Descriptions of the rules that the plan has broken.
    var violations: [String] = []
    /// The upper bound of pushes that disturbances may have duplicated.
    var duplicatesMax = 0
    /// The number of processes that were killed or stopped, or whose loop stalled.
    var disturbances = 0
    /// The number of writes that a process gave up, although the record may be stored.
    var failures = 0
    var outcomes: Set<ReceiptOutcome> = []
    /// The content of `receipts` about each job.
    var receiptStates: [SimulatedJobID: ReceiptState] = [:]

    init(
        seed: UInt64, kind: SenderHistory.Kind = .mixed, hasKillsAndStops: Bool = true,
        usesRealPools: Bool = false
    ) {
        random = SeededGenerator(seed: seed)
        self.kind = kind
        self.hasKillsAndStops = hasKillsAndStops
        self.usesRealPools = usesRealPools
        // Small limits, so that every history reaches them.
        var limits = SenderLimits()
        limits.permitsMax = 5
        limits.window = Int64(1 + random.number(below: 5))
        limits.receiptsBehindMax = 3
        limits.sheetBytesMax = 12_000
        self.limits = limits
        rebalancePercent = random.number(below: 4)
        sheetsAtATime = random.number(below: 2) == 0 ? 1 : 3
        for _ in 0..<2 { addProcess() }
        rebalance()
    }

    func reportViolation(_ text: String) {
        if violations.count < Self.violationsMax { violations.append(text) }
    }

    /// Returns true with a probability.
    func occurs(percent: Int) -> Bool { random.number(below: 100) < percent }

    /// Returns true with a probability. In calm it is always true, so that pending work happens at once.
    func occursOrIsCalm(percent: Int) -> Bool { isCalm || occurs(percent: percent) }

    var time: CurrentTime { CurrentTime(now: now, unixMilliseconds: unixMilliseconds) }

    func addProcess() {
        processes.append(SimulatedProcess(number: processCount, limits: limits, seed: random.next(), at: now))
        processCount += 1
    }

    private func passTime(milliseconds: Int) {
        now = now.advanced(byMilliseconds: milliseconds)
        unixMilliseconds += Int64(milliseconds)
    }

    // MARK: A step

    /// Lets some time pass, causes a random event, and lets each process work.
    func step() {
        let pause = random.number(below: pauseMillisecondsMax())
        passTime(milliseconds: hasOpenActions ? min(pause, Self.resultMillisecondsMax) : pause)
        causeEvent(percentile: random.number(below: 100))
        if !isCalm, occurs(percent: rebalancePercent) { rebalance() }
        while let first = recordsInTransit.first, first.due <= now {
            recordsInTransit.removeFirst()
            _ = append(first.write)
        }
        for process in processes { work(process) }
        settleGroup()
    }

    /// Causes the event that belongs to a random number below 100. Most numbers have none. In calm nothing happens.
    private func causeEvent(percentile: Int) {
        if isCalm { return }
        switch percentile {
        case 0..<12: makeSheets()
        case 12..<14: writeNote()
        case 14: if hasKillsAndStops { killProcess() }
        case 15: if hasKillsAndStops { stopProcess() }
        case 16: rebalance()
        case 17..<19: changeFault()
        // Histories of this kind have more sheets and notes, so that newer jobs replace most others, and loops that
        // stall.
        case 80..<90 where kind == .overtaken: makeSheets()
        case 90..<96 where kind == .overtaken: writeNote()
        case 96..<100 where kind == .overtaken: stallLoop()
        default: break
        }
    }

    private func makeSheets() {
        for _ in 0..<sheetsAtATime { makeSheet() }
    }

    private func writeNote() {
        if let note = makeNote() { notes.append(note) }
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

    /// Lets a process handle events, in the order of the worker's loop. Each kind of event may also wait for a later
    /// step. A stopped process does nothing.
    private func work(_ process: SimulatedProcess) {
        if let stoppedAt = process.stoppedAt {
            let hasContinued = continueAtRandom(process, stoppedAt: stoppedAt)
            guard hasContinued else { return }
        }
        if let stalledUntil = process.stalledUntil {
            // Only the event loop stalls. The threads of the Kafka library go on.
            storeRecords(of: process)
            guard isCalm || now >= stalledUntil else { return }
            process.stalledUntil = nil
            noteSuspension(of: process, since: process.lastPoll)
        }
        if occursOrIsCalm(percent: 70) { poll(for: process) }
        if usesRealPools { advancePools(of: process) }
        if !usesRealPools, !isNetworkCut {
            for _ in 0..<(isCalm ? 6 : 3) {
                if occursOrIsCalm(percent: 60) { endRandomPush(of: process) }
            }
        }
        if occursOrIsCalm(percent: 60) { storeRecords(of: process) }
        if occursOrIsCalm(percent: 60) { acknowledgeRecords(of: process) }
        if occursOrIsCalm(percent: 60) { commitOffsets(of: process) }
        if !usesRealPools, occursOrIsCalm(percent: 50) { sendWaitingPushes(of: process) }
        runIteration(of: process)
    }

    /// Continues a stopped process at some time, as SIGCONT does. Returns whether it has continued.
    private func continueAtRandom(_ process: SimulatedProcess, stoppedAt: Instant) -> Bool {
        let stoppedMilliseconds = now.milliseconds(since: stoppedAt)
        // The group removes the process when its session ends.
        if stoppedMilliseconds > Self.sessionMilliseconds, !process.lanes.isEmpty {
            process.lanes = []
            process.hasLostLanes = true
        }
        guard occursOrIsCalm(percent: 10) else { return false }
        process.stoppedAt = nil
        noteSuspension(of: process, since: stoppedAt)
        return true
    }

    /// Tells a process that it did nothing for long, so that its lanes may belong to another process.
    private func noteSuspension(of process: SimulatedProcess, since start: Instant) {
        guard now.milliseconds(since: start) > Self.suspensionMilliseconds, process.plan.laneCount > 0
        else { return }
        process.doubtsItsLanes = true
        for index in process.commits.indices { process.commits[index].wasRequestedBeforeStop = true }
        process.plan.suspended()
    }
}
