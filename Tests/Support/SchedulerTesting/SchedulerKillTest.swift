package import IngestTesting
internal import Kafka
internal import RecordFormat
package import Scheduler
internal import Schedules
internal import Simulation
internal import Telemetry
internal import Topics

/// A kill test with two processes of the scheduler while commands arrive and timers fire (`KillTestRunner`). At the end
/// each command must have one reply, and each timer one outcome (`SchedulerChecker`).
package final class SchedulerKillTest: KillTestScenario {
    package struct Plan: KillTestPlan {
        package var commands = 2000
        /// The number of kills at each step.
        package var killsPerStep = 1
        /// All steps but one. The scheduler asks for the time only if no command brings it.
        package var steps = SchedulerStep.allCases.filter { $0 != .timeProbeSent }
        package var randomKills = 3
        package var freezeCount = 1
        /// The number of records that are neither commands nor ends, per 1,000 records.
        package var invalidPerThousand = 10
        /// The number of ends of groups that a planner requests, per 1,000 records.
        package var endsPerThousand = 100
        package var seed: UInt64 = 1
        package var report: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    package struct Result: Sendable {
        package var killCount = 0
        /// The steps at which a process died.
        package var reachedSteps: Set<SchedulerStep> = []
        package var fired = 0
        package var cancelled = 0
        package var replaced = 0
        package var endedGroups = 0
        package var deadLetters = 0
        /// The first fault, or nil if everything is right.
        package var fault: String?
    }

    private let plan: Plan
    private let bed: TestBed
    private let runner: KillTestRunner<Plan>
    private let commandWriter: RecordWriter
    private let endWriter: RecordWriter
    private var commandGenerator: ScheduleCommandGenerator
    private var endGenerator: AutomaticEndGenerator
    private var random: SeededGenerator

    package init(plan: Plan, program: String, bed: TestBed, directory: String) throws {
        self.plan = plan
        self.bed = bed
        runner = KillTestRunner(
            plan: plan, worker: .scheduler, program: program, bed: bed, directory: directory)
        commandWriter = try RecordWriter(on: bed, to: .schedules)
        endWriter = try RecordWriter(on: bed, to: .schedulesAuto)
        commandGenerator = ScheduleCommandGenerator(
            seed: plan.seed, partitions: bed.layout.partitionCount(of: .replies))
        endGenerator = AutomaticEndGenerator(seed: plan.seed)
        random = SeededGenerator(seed: plan.seed)
    }

    /// Runs the test, and compares the dead letters and the timers with the written records.
    package func run() async throws -> Result {
        try await runner.run(self)
        let checker = try SchedulerChecker(on: bed)
        let deadLetters = try TopicContent(of: .deadLetters, in: bed)
        let rejectedPositions = Set(
            // The headers of a dead letter name the position of the rejected record.
            deadLetters.records.map { deadLetter in
                ["flotilla-dead-topic", "flotilla-dead-partition", "flotilla-dead-offset"]
                    .map { deadLetter.headers[$0] ?? "" }.joined(separator: "/")
            })
        var result = Result()
        (result.killCount, result.reachedSteps) = (runner.killCount, runner.reachedSteps)
        (result.fired, result.cancelled, result.replaced) = (
            checker.firedCount, checker.cancelledCount, checker.replacedCount
        )
        result.endedGroups = checker.endedCount
        result.deadLetters = rejectedPositions.count
        result.fault = checker.fault
        if result.fault == nil, rejectedPositions != checker.rejectedPositions {
            result.fault =
                "\(rejectedPositions.count) records are dead letters, expected \(checker.rejectedPositions.count)"
        }
        return result
    }

    package var firstRareStep: SchedulerStep { .assigned }
    package var settleSecondsMax: Int { 120 }

    package func work(at moment: KillTestMoment) {
        switch moment {
        case .beforeFault(let number, let count):
            writeRecords(count: plan.commands * number / count - sentCount)
        case .whileFrozen: writeRecords(count: 20)
        case .beforeStep: writeRecords(count: 3)
        }
    }

    private func writeRecords(count: Int) {
        for _ in 0..<max(0, count) {
            let now = WallTime.now().milliseconds
            let writer = random.number(below: 1000) < plan.endsPerThousand ? endWriter : commandWriter
            if random.number(below: 1000) < plan.invalidPerThousand {
                writer.write(key: Array("shop/poison".utf8), value: InvalidRecord.random(using: &random))
            } else if writer === endWriter {
                let end = endGenerator.next(at: now)
                endWriter.write(key: end.key, value: end.encoded())
            } else {
                let command = commandGenerator.next(at: now)
                commandWriter.write(key: command.key, value: command.encoded())
            }
        }
    }

    private var sentCount: Int { commandWriter.sentCount + endWriter.sentCount }

    package func finish() -> Bool { commandWriter.finish() && endWriter.finish() }

    /// Returns whether everything is committed and no timer waits.
    package func isSettled() throws -> Bool {
        guard bed.isEverythingRead(by: "scheduler", in: [.schedules, .schedulesAuto]) else { return false }
        return try TopicContent(of: .timers, in: bed).newestValues.keys.allSatisfy { key in
            unsafe key.withUnsafeBytes { unsafe ScheduleIdempotencyRow.isKey($0) }
        }
    }
}
