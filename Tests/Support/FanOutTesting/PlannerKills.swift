package import FanOut
package import IngestTesting
internal import Kafka
internal import LiveActivity
internal import Simulation
internal import Topics

/// A test that kills two processes of the planner repeatedly while sends arrive. It kills them at every
/// numbered step and at random moments. It also freezes them beyond their session, so that they wake as
/// zombies, and stops them in order. At the end their output must equal the output of the pure planner for
/// the same sends.
package final class PlannerKills: KillScene {
    package struct Plan: KillPlan {
        package var sends = 2000
        /// The number of kills at each step.
        package var rounds = 1
        /// All steps except those of the sweep: no row is old enough to be forgotten during the test.
        package var steps = PlannerStep.allCases.filter { $0 != .sweepBegun && $0 != .swept }
        package var randomKills = 3
        package var freezes = 1
        package var frozenSteps: [PlannerStep] = [.decided, .transactionBegun, .expansionsSent, .offsetsSent]
        /// Per 1,000 records: records that are not sends.
        package var poison = 10
        package var seed: UInt64 = 1

        package init() {}
    }

    package struct Result: Sendable {
        package var kills = 0
        package var stepsMet: Set<PlannerStep> = []
        package var sends = 0
        package var deadLetters = 0
        /// The fault, or nil if everything is right.
        package var fault: String?
    }

    private let plan: Plan
    private let bed: IngestBed
    private let pair: KilledPair<Plan>
    private let sender: ReportSender
    private var mix: SendMix
    private var chance: SeededGenerator
    private var result = Result()

    package init(_ plan: Plan, program: String, bed: IngestBed, directory: String) throws {
        self.plan = plan
        self.bed = bed
        pair = KilledPair(plan, .planner, of: program, on: bed, directory: directory)
        sender = try ReportSender(bed, to: .sends)
        mix = SendMix(seed: plan.seed)
        chance = SeededGenerator(plan.seed)
    }

    package func run() async throws -> Result {
        try await pair.run(self)
        (result.kills, result.stepsMet) = (pair.kills, pair.stepsMet)
        try judge()
        return result
    }

    package var firstRareStep: PlannerStep { .assigned }
    package var settleSeconds: Int { 120 }

    package func work(_ moment: KillMoment) {
        switch moment {
        case .act(let number, let count): send(plan.sends * number / count - sender.sent)
        case .isFrozen: send(20)
        case .awaitsStep: send(3)
        }
    }

    private func send(_ count: Int) {
        for _ in 0..<max(0, count) {
            if chance.below(1000) < plan.poison {
                sender.send(key: Array("shop/poison".utf8), value: Poison.any(&chance))
            } else {
                let sent = mix.next()
                sender.send(key: sent.key, value: sent.value)
            }
        }
    }

    package func finish() -> Bool { sender.finish() }

    /// Returns whether everything is committed and no send is held.
    package func isSettled() throws -> Bool {
        guard bed.isRead(by: "planner", [.sends]) else { return false }
        return try !TopicContent(.groups, bed).newest.values.contains { row in
            String(decoding: row, as: UTF8.self).contains("\"held\":")
        }
    }

    private func judge() throws {
        let model = try PlannerModel(TopicContent(.sends, bed), lanes: bed.layout.lanes)
        result.sends = model.sends
        let letters = try TopicContent(.deadLetters, bed)
        let buried = Set(
            letters.records.map { letter in
                "\(letter.headers["flotilla-dead-partition"] ?? "")/\(letter.headers["flotilla-dead-offset"] ?? "")"
            })
        result.deadLetters = buried.count
        result.fault = try model.fault(in: bed)
        if result.fault == nil, buried != model.misfits {
            result.fault = "\(buried.count) records are dead letters, expected \(model.misfits.count)"
        }
    }
}
