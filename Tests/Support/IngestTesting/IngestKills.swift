package import Ingest
internal import Kafka
internal import LiveActivity
internal import Simulation
internal import Topics

/// A kill test with two ingest processes while reports arrive. They die at every numbered step and at random
/// moments, freeze beyond their session and wake as zombies, and stop in order. At the end the registry and
/// the events must equal the result of the merge, byte for byte.
package final class IngestKills: KillScene {
    package struct Plan: KillPlan {
        package var reports = 2000
        package var installations = 400
        /// The number of kills at each step.
        package var rounds = 1
        /// All steps except those of the sweep, because nothing expires during the test.
        package var steps = IngestStep.allCases.filter { $0 != .sweepBegun && $0 != .swept }
        package var randomKills = 3
        package var freezes = 1
        /// The records per 1,000 in a wrong partition, and the records per 1,000 that are not reports.
        package var strays = 10
        package var poison = 10
        package var seed: UInt64 = 1

        package init() {}
    }

    package struct Result: Sendable {
        package var kills = 0
        package var stepsMet: Set<IngestStep> = []
        package var reports = 0
        package var rows = 0
        package var events = 0
        package var deadLetters = 0
        /// The first difference, or nil if the result is exactly right.
        package var fault: String?
    }

    private let plan: Plan
    private let bed: IngestBed
    private let pair: KilledPair<Plan>
    private let sender: ReportSender
    private var mix: ReportMix
    private var chance: SeededGenerator
    private var result = Result()

    package init(_ plan: Plan, program: String, bed: IngestBed, directory: String) throws {
        self.plan = plan
        self.bed = bed
        pair = KilledPair(plan, .ingest, of: program, on: bed, directory: directory)
        sender = try ReportSender(bed)
        mix = ReportMix(installations: plan.installations, seed: plan.seed)
        chance = SeededGenerator(plan.seed)
    }

    package func run() async throws -> Result {
        try await pair.run(self)
        (result.kills, result.stepsMet) = (pair.kills, pair.stepsMet)
        try judge()
        return result
    }

    package var firstRareStep: IngestStep { .assigned }
    package var settleSeconds: Int { 120 }

    package func work(_ moment: KillMoment) {
        switch moment {
        case .act(let number, let count): send(plan.reports * number / count - sender.sent)
        case .isFrozen: send(20)
        case .awaitsStep: send(1)
        }
    }

    private func send(_ count: Int) {
        for _ in 0..<max(0, count) {
            let report = mix.next()
            let dice = chance.below(1000)
            if dice < plan.strays {
                let partition = Int32(chance.below(bed.layout.lanes))
                sender.send(key: report.key, value: report.encoded(), partition: partition)
            } else if dice < plan.strays + plan.poison {
                sender.send(key: report.key, value: Poison.any(&chance))
            } else {
                sender.send(report)
            }
        }
    }

    package func finish() -> Bool { sender.finish() }

    package func isSettled() -> Bool { bed.isRead(by: "ingest", [.reports]) }

    private func judge() throws {
        let reports = try TopicContent(.reports, bed)
        let model = IngestModel(reports, lanes: bed.layout.lanes, keys: nil)
        let letters = try TopicContent(.deadLetters, bed)
        let buried = Set(
            letters.records.map { letter in
                "\(letter.headers["flotilla-dead-partition"] ?? "")/\(letter.headers["flotilla-dead-offset"] ?? "")"
            })
        result.reports = reports.records.count
        result.rows = model.registry.count
        result.events = model.events.values.reduce(0) { $0 + $1.count }
        result.deadLetters = buried.count
        result.fault = try model.difference(
            registry: TopicContent(.registry, bed), events: TopicContent(.events, bed))
        if result.fault == nil, buried != model.misfits {
            result.fault = "\(buried.count) records are dead letters instead of \(model.misfits.count)"
        }
    }
}
