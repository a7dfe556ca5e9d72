package import Ingest
internal import InstallationRecords
internal import Kafka
internal import RecordFormat
internal import Simulation
internal import Topics

/// A kill test with two processes of the ingest stage while reports arrive (`KillTestRunner`). At the end `registry`
/// and `events` must equal `IngestModel`, byte for byte.
package final class IngestKillTest: KillTestScenario {
    package struct Plan: KillTestPlan {
        package var reports = 2000
        package var installations = 400
        /// The number of kills at each step.
        package var killsPerStep = 1
        /// All steps except those of the sweep, because nothing expires during the test.
        package var steps = IngestStep.allCases.filter { $0 != .sweepStarted && $0 != .sweepCommitted }
        package var randomKills = 3
        package var freezeCount = 1
        /// The number of reports in a random partition, per 1,000 records.
        package var misplacedPerThousand = 10
        /// The number of records that are not reports, per 1,000 records.
        package var invalidPerThousand = 10
        package var seed: UInt64 = 1
        package var report: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    package struct Result: Sendable {
        package var killCount = 0
        /// The steps at which a process died.
        package var reachedSteps: Set<IngestStep> = []
        /// The numbers of records in the topics.
        package var reports = 0
        package var rows = 0
        package var events = 0
        package var deadLetters = 0
        /// The first difference, or nil if the topics equal the model.
        package var fault: String?
    }

    private let plan: Plan
    private let bed: TestBed
    private let runner: KillTestRunner<Plan>
    private let writer: RecordWriter
    private var generator: ReportGenerator
    private var random: SeededGenerator
    private var result = Result()

    package init(plan: Plan, program: String, bed: TestBed, directory: String) throws {
        self.plan = plan
        self.bed = bed
        runner = KillTestRunner(plan: plan, worker: .ingest, program: program, bed: bed, directory: directory)
        writer = try RecordWriter(on: bed)
        generator = ReportGenerator(installations: plan.installations, seed: plan.seed)
        random = SeededGenerator(seed: plan.seed)
    }

    package func run() async throws -> Result {
        try await runner.run(self)
        (result.killCount, result.reachedSteps) = (runner.killCount, runner.reachedSteps)
        try check()
        return result
    }

    package var firstRareStep: IngestStep { .assigned }
    package var settleSecondsMax: Int { 120 }

    package func work(at moment: KillTestMoment) {
        switch moment {
        case .beforeFault(let number, let count):
            writeReports(count: plan.reports * number / count - writer.sentCount)
        case .whileFrozen: writeReports(count: 20)
        case .beforeStep: writeReports(count: 1)
        }
    }

    private func writeReports(count: Int) {
        for _ in 0..<max(0, count) {
            let report = generator.next()
            let roll = random.number(below: 1000)
            if roll < plan.misplacedPerThousand {
                let partition = Int32(random.number(below: bed.layout.lanes))
                writer.write(key: report.key, value: report.encoded(), partition: partition)
            } else if roll < plan.misplacedPerThousand + plan.invalidPerThousand {
                writer.write(key: report.key, value: InvalidRecord.random(using: &random))
            } else {
                writer.write(report)
            }
        }
    }

    package func finish() -> Bool { writer.finish() }

    package func isSettled() -> Bool { bed.isEverythingRead(by: "ingest", in: [.reports]) }

    private func check() throws {
        let reports = try TopicContent(of: .reports, in: bed)
        let model = IngestModel(reports: reports, lanes: bed.layout.lanes, keys: nil)
        let rejectedPositions = try TopicContent(of: .deadLetters, in: bed).deadLetterPositions
        result.reports = reports.records.count
        result.rows = model.registry.count
        result.events = model.events.values.reduce(0) { $0 + $1.count }
        result.deadLetters = rejectedPositions.count
        result.fault = try model.difference(
            registry: TopicContent(of: .registry, in: bed), events: TopicContent(of: .events, in: bed))
        if result.fault == nil, rejectedPositions != model.rejectedPositions {
            result.fault =
                "\(rejectedPositions.count) records are dead letters instead of \(model.rejectedPositions.count)"
        }
    }
}
