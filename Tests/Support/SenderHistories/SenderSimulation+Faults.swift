internal import Jobs
internal import Lifecycle
internal import Sender
internal import Simulation

/// A fault of the faulty app, or of its connection to APNs. It must not delay the jobs of the sound app.
enum AppFault: CaseIterable {
    case none
    /// APNs refuses all tokens, or the provider token.
    case wrongSetting
    /// APNs does not answer, or takes no connection.
    case noAnswer
    /// The sender has no provider key of the app.
    case noKey
    /// APNs answers 503.
    case unavailable

    /// The longest allowed delay of the sound app's jobs. Sheets of an app that waits for APNs hold the window
    /// until their answers are overdue. Other faults delay only by a few turns.
    var delayMillisecondsMax: Int { self == .noAnswer ? 100_000 : 20_000 }
}

// Faults of the faulty app and of the network, and the measurements that they delay no other jobs for long.
extension SenderSimulation {
    /// The sheets that are written before a delay is measured.
    private static let sheetsBeforeMeasurement = 12
    private static let measurementCount = 2
    /// The time in which the sheets of the faulty app are in hand before the sound app's sheets come.
    private static let headStartMilliseconds = 10_000
    /// The duration of a cut of the network.
    private static let cutMilliseconds = 10_000
    /// The time after a cut within which all jobs must be done.
    private static let cutDelayMillisecondsMax = 30_000
    /// A wrong setting may begin while the newest version is one of these.
    private static let misconfiguredVersions: Range<Int64> = 106..<115
    /// The largest number of steps before a measurement. They take less than an hour, after which jobs would expire.
    private static let stepsBeforeMeasurementMax = 600

    /// Changes the fault of the faulty app at random. A wrong setting occurs only in one period, because tokens that
    /// are refused in two such periods, with accepted pushes in between, rightly count as dead.
    func changeFault() {
        let mayHaveWrongSetting = Self.misconfiguredVersions.contains(version)
        let possibleFaults = AppFault.allCases.filter { $0 != .wrongSetting || mayHaveWrongSetting }
        appFault = possibleFaults[random.number(below: possibleFaults.count)]
    }

    /// Measures the delay of the sound app while the fault lasts.
    func settleDuringAppFault() {
        guard appFault != .none else { return }
        finishJobs(of: [Self.soundApp])
        for _ in 0..<Self.measurementCount where violations.isEmpty { measureDelay() }
    }

    private func measureDelay() {
        for sheetNumber in 0..<Self.sheetsBeforeMeasurement {
            makeSheet(of: Self.faultyApp, at: partitionInTurn(forSheet: sheetNumber))
        }
        runSteps(until: now.advanced(byMilliseconds: Self.headStartMilliseconds), isDone: { false })
        for lane in Self.lanes {
            for topic in [JobTopic.normal, .urgent] {
                makeSheet(of: Self.soundApp, at: SimulatedKafka.Partition(lane: lane, topic: topic))
            }
        }
        isMeasuringDelay = true
        defer { isMeasuringDelay = false }
        runSteps(until: now.advanced(byMilliseconds: appFault.delayMillisecondsMax)) {
            !hasOpenJobs(of: [Self.soundApp])
        }
        if hasOpenJobs(of: [Self.soundApp]) { reportViolation("\(appFault) of an app delays another app") }
    }

    /// Cuts the network for a while in one history of four, so that no app gets answers. After the cut all jobs must be
    /// done soon.
    func settleAfterNetworkCut() {
        guard occurs(percent: 25), violations.isEmpty else { return }
        finishJobs(of: [Self.soundApp, Self.faultyApp])
        for sheetNumber in 0..<Self.sheetsBeforeMeasurement {
            makeSheet(
                of: occurs(percent: 50) ? Self.soundApp : Self.faultyApp,
                at: partitionInTurn(forSheet: sheetNumber))
        }
        isMeasuringDelay = true
        defer { isMeasuringDelay = false }
        isNetworkCut = true
        runSteps(until: now.advanced(byMilliseconds: Self.cutMilliseconds), isDone: { false })
        isNetworkCut = false
        runSteps(until: now.advanced(byMilliseconds: Self.cutDelayMillisecondsMax)) {
            !hasOpenJobs(of: [Self.soundApp, Self.faultyApp])
        }
        if hasOpenJobs(of: [Self.soundApp, Self.faultyApp]) {
            reportViolation("a cut of the network delays jobs")
        }
    }

    /// Returns the partition of `jobs` for a sheet. The lanes take turns.
    private func partitionInTurn(forSheet sheetNumber: Int) -> SimulatedKafka.Partition {
        SimulatedKafka.Partition(lane: Self.lanes[sheetNumber % Self.lanes.count], topic: .normal)
    }

    /// Runs steps until the apps have no open jobs, within a limit of steps.
    private func finishJobs(of apps: Set<String>) {
        for stepNumber in 0..<Self.stepsBeforeMeasurementMax {
            if stepNumber % Self.stepsBetweenChecks == 0, !hasOpenJobs(of: apps) { break }
            step()
        }
    }

    /// Runs steps until `isDone`, or until the end of the time.
    private func runSteps(until end: Instant, isDone: () -> Bool) {
        while now < end, violations.isEmpty, !isDone() { step() }
    }

    /// Whether a job of these apps has no final receipt.
    func hasOpenJobs(of apps: Set<String>) -> Bool {
        jobs.contains { apps.contains($0.value.head.app) && receiptStates[$0.key]?.final == nil }
    }
}
