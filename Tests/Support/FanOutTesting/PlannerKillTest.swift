package import FanOut
package import IngestTesting
internal import Kafka
internal import Simulation
internal import Topics

/// A kill test with two processes of the planner while sends arrive. `KillTestRunner` kills them at every numbered step
/// and at random moments. It also freezes them beyond their session, so that they wake as zombies, which have lost
/// their partitions and do not know it, and stops them regularly. At the end their output must equal `PlannerModel`,
/// which plans the same sends without Kafka.
package final class PlannerKillTest: KillTestScenario {
    package struct Plan: KillTestPlan {
        package var sends = 2000
        /// The number of kills at each step.
        package var killsPerStep = 1
        /// All steps except those of the sweep: no row is old enough to be forgotten during the test.
        package var steps = PlannerStep.allCases.filter { $0 != .sweepStarted && $0 != .sweepCommitted }
        package var randomKills = 3
        package var freezeCount = 1
        package var frozenSteps: [PlannerStep] = [.decided, .transactionBegun, .expansionsSent, .offsetsSent]
        /// The number of records that are not sends, per 1,000 records.
        package var invalidPerThousand = 10
        package var seed: UInt64 = 1
        package var report: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    package struct Result: Sendable {
        package var killCount = 0
        /// The steps at which a process died.
        package var reachedSteps: Set<PlannerStep> = []
        package var sends = 0
        package var deadLetters = 0
        /// The first fault, or nil if everything is right.
        package var fault: String?
    }

    private let plan: Plan
    private let bed: TestBed
    private let runner: KillTestRunner<Plan>
    private let writer: RecordWriter
    private var generator: SendGenerator
    private var random: SeededGenerator
    private var result = Result()

    package init(plan: Plan, program: String, bed: TestBed, directory: String) throws {
        self.plan = plan
        self.bed = bed
        runner = KillTestRunner(
            plan: plan, worker: .planner, program: program, bed: bed, directory: directory)
        writer = try RecordWriter(on: bed, to: .sends)
        generator = SendGenerator(seed: plan.seed)
        random = SeededGenerator(seed: plan.seed)
    }

    package func run() async throws -> Result {
        try await runner.run(self)
        (result.killCount, result.reachedSteps) = (runner.killCount, runner.reachedSteps)
        try check()
        return result
    }

    /// The steps from `assigned` on happen once per partition.
    package var firstRareStep: PlannerStep { .assigned }
    package var settleSecondsMax: Int { 120 }

    package func work(at moment: KillTestMoment) {
        switch moment {
        case .beforeFault(let number, let faultCount):
            let dueCount = plan.sends * number / faultCount
            writeSends(count: dueCount - writer.sentCount)
        case .whileFrozen: writeSends(count: 20)
        case .beforeStep: writeSends(count: 3)
        }
    }

    private func writeSends(count: Int) {
        for _ in 0..<max(0, count) {
            if random.number(below: 1000) < plan.invalidPerThousand {
                writer.write(key: Array("shop/poison".utf8), value: InvalidRecord.random(using: &random))
            } else {
                let request = generator.next()
                writer.write(key: request.key, value: request.value)
            }
        }
    }

    package func finish() -> Bool { writer.finish() }

    /// Returns whether everything is committed and no send is held.
    package func isSettled() throws -> Bool {
        guard bed.isEverythingRead(by: "planner", in: [.sends]) else { return false }
        // A row has the field `held` while its group holds a send.
        return try !TopicContent(of: .groups, in: bed).newestValues.values.contains { row in
            String(decoding: row, as: UTF8.self).contains("\"held\":")
        }
    }

    private func check() throws {
        let model = try PlannerModel(sends: TopicContent(of: .sends, in: bed), lanes: bed.layout.lanes)
        result.sends = model.sendCount
        let rejectedPositions = try TopicContent(of: .deadLetters, in: bed).deadLetterPositions
        result.deadLetters = rejectedPositions.count
        result.fault = try model.fault(in: bed)
        if result.fault == nil, rejectedPositions != model.rejectedPositions {
            result.fault =
                "\(rejectedPositions.count) records are dead letters, expected \(model.rejectedPositions.count)"
        }
    }
}
