internal import Jobs
internal import Lifecycle
internal import Sender
internal import Simulation

/// A fault of the app `wrong`, which must not delay the app `shop`.
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

    /// The longest allowed delay of another app's jobs. Sheets of an app that waits for APNs hold the window
    /// until their answers are overdue. Other faults delay only by a few turns.
    var delayMillisecondsMax: Int { self == .noAnswer ? 100_000 : 20_000 }
}

// Faults of an app and of the network, and the measurements that they do not delay others.
extension SenderSimulation {
    /// The sheets of the faulty app while the delay of the other app is measured.
    private static let sheetsOfFaultyApp = 12
    private static let measurementCount = 2
    /// The time in which the sheets of the faulty app are in hand before the other app's sheets come.
    private static let headStartMilliseconds = 10_000
    private static let cutMilliseconds = 10_000
    private static let cutDelayMillisecondsMax = 30_000
    /// The largest number of steps before a measurement. They take less than an hour, after which jobs would expire.
    private static let stepsBeforeMeasurementMax = 600

    /// Changes the fault of the app at random. A wrong setting occurs only in one period, between two versions. Tokens
    /// that are refused in two such periods, with accepted pushes in between, count as dead.
    func changeFault() {
        let mayHaveWrongSetting = version > 105 && version < 115
        let possibleFaults = AppFault.allCases.filter { $0 != .wrongSetting || mayHaveWrongSetting }
        appFault = possibleFaults[random.number(below: possibleFaults.count)]
    }

    /// Measures the delay of the other app while the fault lasts.
    func settleDuringAppFault() {
        guard appFault != .none else { return }
        finishJobs(of: ["shop"])
        for _ in 0..<Self.measurementCount where faults.isEmpty { measureDelay() }
    }

    private func measureDelay() {
        for count in 0..<Self.sheetsOfFaultyApp {
            makeSheet(of: "wrong", at: SimulatedKafka.Partition(lane: Self.lanes[count % 2], topic: .normal))
        }
        advance(until: now.advanced(byMilliseconds: Self.headStartMilliseconds)) { false }
        for lane in Self.lanes {
            for topic in [JobTopic.normal, .urgent] {
                makeSheet(of: "shop", at: SimulatedKafka.Partition(lane: lane, topic: topic))
            }
        }
        isMeasuringDelay = true
        defer { isMeasuringDelay = false }
        advance(until: now.advanced(byMilliseconds: appFault.delayMillisecondsMax)) {
            !hasOpenJobs(of: ["shop"])
        }
        if hasOpenJobs(of: ["shop"]) { recordFault("\(appFault) of an app delays another app") }
    }

    /// Cuts the network for a while in one history of four, so that no app gets answers. After the cut all jobs must be
    /// done soon.
    func settleAfterNetworkCut() {
        guard occurs(percent: 25), faults.isEmpty else { return }
        finishJobs(of: ["shop", "wrong"])
        for count in 0..<Self.sheetsOfFaultyApp {
            let partition = SimulatedKafka.Partition(lane: Self.lanes[count % 2], topic: .normal)
            makeSheet(of: occurs(percent: 50) ? "shop" : "wrong", at: partition)
        }
        isMeasuringDelay = true
        defer { isMeasuringDelay = false }
        isNetworkCut = true
        advance(until: now.advanced(byMilliseconds: Self.cutMilliseconds)) { false }
        isNetworkCut = false
        advance(until: now.advanced(byMilliseconds: Self.cutDelayMillisecondsMax)) {
            !hasOpenJobs(of: ["shop", "wrong"])
        }
        if hasOpenJobs(of: ["shop", "wrong"]) { recordFault("a cut of the network delays jobs") }
    }

    /// Runs steps until the apps have no open jobs, within a limit of steps.
    private func finishJobs(of apps: Set<String>) {
        for stepNumber in 0..<Self.stepsBeforeMeasurementMax {
            // Not before each step, because the check is slow.
            if stepNumber % 4 == 0, !hasOpenJobs(of: apps) { break }
            step()
        }
    }

    private func advance(until end: Instant, isDone: () -> Bool) {
        while now < end, faults.isEmpty, !isDone() { step() }
    }

    private func hasOpenJobs(of apps: Set<String>) -> Bool {
        jobs.contains { apps.contains($0.value.head.app) && receiptStates[$0.key]?.final == nil }
    }
}
