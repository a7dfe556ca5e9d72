internal import Lifecycle
internal import LiveActivity
internal import Sender
internal import Simulation

/// The trouble of one app, which must not delay another.
enum AppFault: CaseIterable {
    case none
    /// APNs refuses all tokens, or the provider token.
    case wrongSetting
    /// APNs does not answer, or takes no connection.
    case silence
    /// The sender has no provider key of the app.
    case noKey
    /// APNs answers 503.
    case trouble

    /// The longest delay of another app's jobs. Sheets of an app that waits for APNs hold the window until their answers
    /// are overdue; nothing else takes longer than some turns.
    var delayMillisecondsMax: Int { self == .silence ? 75_000 : 20_000 }
}

extension SenderWorld {
    /// Sheets of the app in trouble, while the other's delay is judged.
    private static let burden = 12
    private static let rounds = 2

    /// A wrong setting has one spell: tokens that are refused in two spells, with pushes accepted in between, are dead.
    func changeFault() {
        let isSpell = version > 105 && version < 115
        let faults = AppFault.allCases.filter { $0 != .wrongSetting || isSpell }
        appFault = faults[random.below(faults.count)]
    }

    /// Judges the delay of the other app while the fault stays.
    func settleBesideFault() {
        guard appFault != .none else { return }
        // Less than an hour: then jobs would expire.
        for count in 0..<600 {
            if count % 4 == 0, !hasOpenJobs { break }
            step()
        }
        for _ in 0..<Self.rounds where faults.isEmpty { judge() }
    }

    private func judge() {
        for count in 0..<Self.burden {
            makeSheet(of: "wrong", at: WorldKafka.Place(lane: Self.lanes[count % 2], topic: .usual))
        }
        pass(until: now.advanced(byMilliseconds: 10_000)) { false }
        for lane in Self.lanes {
            for topic in [JobTopic.usual, .urgent] {
                makeSheet(of: "shop", at: WorldKafka.Place(lane: lane, topic: topic))
            }
        }
        isJudging = true
        defer { isJudging = false }
        pass(until: now.advanced(byMilliseconds: appFault.delayMillisecondsMax)) { !hasOpenJobs }
        if hasOpenJobs { fault("\(appFault) of an app delays another app") }
    }

    private func pass(until limit: Instant, isDone: () -> Bool) {
        while now < limit, faults.isEmpty, !isDone() { step() }
    }

    private var hasOpenJobs: Bool {
        jobs.contains { $0.value.head.app != "wrong" && standings[$0.key]?.final == nil }
    }
}
