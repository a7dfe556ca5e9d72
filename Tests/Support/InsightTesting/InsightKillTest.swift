internal import Foundation
package import IngestTesting
package import Insight
internal import Kafka
internal import Lifecycle
internal import Simulation
internal import Telemetry
internal import Topics

/// A kill test with two processes of the insight stage while the records of a day arrive. Files of dead processes are
/// deleted and damaged. At the end every figure of every answer must equal `DayModel`.
///
/// `KillTestRunner` kills, freezes and restarts the processes, and calls the functions of this scenario in between.
package final class InsightKillTest: KillTestScenario {
    package struct Plan: KillTestPlan {
        package var records = 6000
        /// The number of kills at each step.
        package var killsPerStep = 1
        /// All steps but one: no record of a day is old enough to be deleted.
        package var steps = InsightStep.allCases.filter { $0 != .oldRowsDeleted }
        package var randomKills = 3
        package var freezeCount = 1
        /// The number of people in each app.
        package var people = 150
        package var seed: UInt64 = 1
        package var report: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    package struct Result: Sendable {
        package var killCount = 0
        package var reachedSteps: Set<InsightStep> = []
        /// The numbers of the dead processes' files that were deleted or damaged.
        package var deletedFiles = 0
        package var damagedFiles = 0
        /// The number of records in all topics.
        package var records = 0
        /// The number of compared figures.
        package var figureCount = 0
        /// The first difference, or nil if every figure is equal.
        package var fault: String?
    }

    private let plan: Plan
    private let bed: TestBed
    private let directory: String
    private let runner: KillTestRunner<Plan>
    private let writer: DayWriter
    private var day: DayGenerator
    private var random: SeededGenerator
    private var deletedFiles = 0
    private var damagedFiles = 0

    package init(plan: Plan, program: String, bed: TestBed, directory: String) throws {
        (self.plan, self.bed, self.directory) = (plan, bed, directory)
        runner = KillTestRunner(
            plan: plan, worker: .insight, program: program, bed: bed, directory: directory)
        writer = try DayWriter(on: bed)
        day = DayGenerator(seed: plan.seed, lanes: bed.layout.lanes, people: plan.people)
        random = SeededGenerator(seed: plan.seed)
    }

    package func run() async throws -> Result {
        try await runner.run(self)
        var result = Result()
        (result.killCount, result.reachedSteps) = (runner.killCount, runner.reachedSteps)
        (result.deletedFiles, result.damagedFiles) = (deletedFiles, damagedFiles)
        let model = try DayModel(on: bed)
        result.records = model.recordCount
        // Each of the two answers for its own lanes. The first one asks the second for the others.
        let first = try await RestartedInsight(on: bed, directory: "\(directory)/0")
        let second = try await RestartedInsight(on: bed, directory: "\(directory)/1")
        try await first.waitUntilComplete(on: bed)
        var checker = DayChecker(service: first.service, model: model, day: day)
        try await checker.checkAll()
        await first.stop()
        await second.stop()
        result.figureCount = checker.figureCount
        if !checker.faults.isEmpty { result.fault = checker.faults.joined(separator: "; ") }
        return result
    }

    // MARK: The scenario

    package var firstRareStep: InsightStep { .lanesAssigned }
    package var settleSecondsMax: Int { 300 }

    package func work(at moment: KillTestMoment) {
        switch moment {
        // The records are spread evenly over the faults.
        case .beforeFault(let number, let count):
            writeRecords(count: plan.records * number / count - writer.sentCount)
        case .whileFrozen: writeRecords(count: 20)
        case .beforeStep: writeRecords(count: 3)
        }
    }

    private func writeRecords(count: Int) {
        for _ in 0..<max(0, count) {
            do { try writer.write(day.next()) } catch {
                preconditionFailure("the records of the day were not written: \(error)")
            }
        }
    }

    package func finish() -> Bool { writer.finish() }

    /// Whether the processes have committed all records.
    package func isSettled() -> Bool { RestartedInsight.hasReadAll(of: bed) }

    /// Deletes or damages a file of a dead process, once in three times.
    package func processDied(leaving data: String) {
        // One of its entries is a directory such as `receipts-2`, with the file of one lane.
        let stateDirectory = "\(data)/slot-0/insight"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: stateDirectory))?.sorted() ?? []
        guard !names.isEmpty, random.number(below: 3) == 0 else { return }
        let path = "\(stateDirectory)/\(names[random.number(below: names.count)])"
        if random.number(below: 2) == 0 {
            if (try? FileManager.default.removeItem(atPath: path)) != nil { deletedFiles += 1 }
        } else if damageFile(at: path) {
            damagedFiles += 1
        }
    }

    /// The page size of LMDB and SQLite.
    private static let pageByteCount = 4096
    /// LMDB has two pages of metadata. The third page is the first one that is damaged.
    private static let firstDamagedPage = 2
    private static let damagedByteCount = 600

    /// Overwrites the beginning of a page, where both kinds of files store its type. Returns false if the file is too
    /// small.
    private func damageFile(at path: String) -> Bool {
        let file = ["data.mdb", "events.sqlite"].map { "\(path)/\($0)" }
            .first { FileManager.default.fileExists(atPath: $0) }
        guard let file, let handle = FileHandle(forUpdatingAtPath: file), let size = try? handle.seekToEnd(),
            size >= UInt64((Self.firstDamagedPage + 1) * Self.pageByteCount)
        else { return false }
        let pageCount = Int(size) / Self.pageByteCount
        let page = Self.firstDamagedPage + random.number(below: pageCount - Self.firstDamagedPage)
        do {
            try handle.seek(toOffset: UInt64(page * Self.pageByteCount))
            try handle.write(contentsOf: Data(repeating: 0xA5, count: Self.damagedByteCount))
            try handle.close()
            return true
        } catch { return false }
    }
}
