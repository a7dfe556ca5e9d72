internal import Jobs
internal import Lifecycle
internal import Sender
internal import Simulation

/// The trouble of one app, which must not delay another.
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

    /// Longest allowed delay of another app's jobs. Sheets of an app that waits for APNs hold the window
    /// until their answers are overdue. Other faults delay only by a few turns.
    var delayMillisecondsMax: Int { self == .noAnswer ? 100_000 : 20_000 }
}

extension SenderSimulation {
    /// Sheets of the app in trouble while the delay of the other app is measured.
    private static let sheetsOfFaultyApp = 12
    private static let measurementCount = 2
    private static let cutMilliseconds = 10_000
    private static let cutDelayMillisecondsMax = 30_000

    /// Changes the trouble of the app. There is only one period with a wrong setting. Tokens that are refused
    /// in two such periods, with accepted pushes in between, are dead.
    func changeFault() {
        let isSpell = version > 105 && version < 115
        let faults = AppFault.allCases.filter { $0 != .wrongSetting || isSpell }
        appFault = faults[random.number(below: faults.count)]
    }

    /// Measures the delay of the other app while the fault stays.
    func settleDuringAppFault() {
        guard appFault != .none else { return }
        // This takes less than an hour, because jobs would expire after that.
        for count in 0..<600 {
            if count % 4 == 0, !hasOpenJobs(of: ["shop"]) { break }
            step()
        }
        for _ in 0..<Self.measurementCount where faults.isEmpty { measureDelay() }
    }

    private func measureDelay() {
        for count in 0..<Self.sheetsOfFaultyApp {
            makeSheet(of: "wrong", at: SimulatedKafka.Partition(lane: Self.lanes[count % 2], topic: .normal))
        }
        advance(until: now.advanced(byMilliseconds: 10_000)) { false }
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

    /// Cuts the network, so that no app gets answers. Afterwards all jobs must be done soon.
    func settleAfterNetworkCut() {
        guard occurs(percent: 25), faults.isEmpty else { return }
        for count in 0..<600 {
            if count % 4 == 0, !hasOpenJobs(of: ["shop", "wrong"]) { break }
            step()
        }
        for count in 0..<Self.sheetsOfFaultyApp {
            let place = SimulatedKafka.Partition(lane: Self.lanes[count % 2], topic: .normal)
            makeSheet(of: occurs(percent: 50) ? "shop" : "wrong", at: place)
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

    private func advance(until limit: Instant, isDone: () -> Bool) {
        while now < limit, faults.isEmpty, !isDone() { step() }
    }

    private func hasOpenJobs(of apps: Set<String>) -> Bool {
        jobs.contains { apps.contains($0.value.head.app) && receiptStates[$0.key]?.final == nil }
    }
}
