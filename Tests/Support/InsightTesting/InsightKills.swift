internal import Foundation
package import IngestTesting
package import Insight
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Simulation
internal import Telemetry
internal import Topics

/// A kill test with two insight processes while the records of a day arrive. They die at every numbered step
/// and at random moments, freeze beyond their session, and stop in order. Files of dead processes are deleted
/// and damaged. At the end every figure of every view must equal the topics.
package final class InsightKills: KillScene {
    package struct Plan: KillPlan {
        package var records = 6000
        /// The number of kills at each step.
        package var rounds = 1
        /// All steps but one: no record of a day is old enough to be forgotten.
        package var steps = InsightStep.allCases.filter { $0 != .oldRowsDeleted }
        package var randomKills = 3
        package var freezes = 1
        package var people = 150
        package var seed: UInt64 = 1

        package init() {}
    }

    package struct Result: Sendable {
        package var kills = 0
        package var stepsMet: Set<InsightStep> = []
        package var deleted = 0
        package var damaged = 0
        package var records = 0
        package var figures = 0
        /// The first difference, or nil if every figure is equal.
        package var fault: String?
    }

    private let plan: Plan
    private let bed: IngestBed
    private let directory: String
    private let pair: KilledPair<Plan>
    private let writer: DayWriter
    private var mix: DayMix
    private var chance: SeededGenerator
    private var deleted = 0
    private var damaged = 0

    package init(_ plan: Plan, program: String, bed: IngestBed, directory: String) throws {
        (self.plan, self.bed, self.directory) = (plan, bed, directory)
        pair = KilledPair(plan, .insight, of: program, on: bed, directory: directory)
        writer = try DayWriter(bed)
        mix = DayMix(seed: plan.seed, lanes: bed.layout.lanes, people: plan.people)
        chance = SeededGenerator(plan.seed)
    }

    package func run() async throws -> Result {
        try await pair.run(self)
        var result = Result()
        (result.kills, result.stepsMet) = (pair.kills, pair.stepsMet)
        (result.deleted, result.damaged) = (deleted, damaged)
        let model = try DayModel(bed)
        result.records = model.records
        let one = try await RevivedInsight(bed, "\(directory)/0")
        let other = try await RevivedInsight(bed, "\(directory)/1")
        try await one.untilWhole(of: bed)
        var judge = DayJudge(one.service, with: model, of: mix)
        try await judge.judge()
        await one.stop()
        await other.stop()
        result.figures = judge.figures
        if !judge.faults.isEmpty { result.fault = judge.faults.joined(separator: "; ") }
        return result
    }

    // MARK: The scene

    package var firstRareStep: InsightStep { .lanesAssigned }
    package var settleSeconds: Int { 300 }

    package func work(_ moment: KillMoment) {
        switch moment {
        case .act(let number, let count): send(plan.records * number / count - writer.sent)
        case .isFrozen: send(20)
        case .awaitsStep: send(3)
        }
    }

    private func send(_ count: Int) {
        for _ in 0..<max(0, count) {
            do { try writer.write(mix.next()) } catch {
                preconditionFailure("the records of the day were not written: \(error)")
            }
        }
    }

    package func finish() -> Bool { writer.finish() }

    /// Whether all records are in the files.
    package func isSettled() -> Bool { RevivedInsight.hasReadAll(of: bed) }

    /// Sometimes deletes or damages a file of a dead process.
    package func died(leaving data: String) {
        let state = "\(data)/slot-0/insight"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: state))?.sorted() ?? []
        guard !names.isEmpty, chance.below(3) == 0 else { return }
        let path = "\(state)/\(names[chance.below(names.count)])"
        if chance.below(2) == 0 {
            if (try? FileManager.default.removeItem(atPath: path)) != nil { deleted += 1 }
        } else if spoil(path) {
            damaged += 1
        }
    }

    private static let pageBytes = 4096

    /// Overwrites the beginning of a page, where both kinds of files store its type.
    private func spoil(_ path: String) -> Bool {
        let file = ["data.mdb", "events.sqlite"].map { "\(path)/\($0)" }
            .first { FileManager.default.fileExists(atPath: $0) }
        guard let file, let handle = FileHandle(forUpdatingAtPath: file), let size = try? handle.seekToEnd(),
            size >= UInt64(3 * Self.pageBytes)
        else { return false }
        let page = 2 + chance.below(Int(size) / Self.pageBytes - 2)
        do {
            try handle.seek(toOffset: UInt64(page * Self.pageBytes))
            try handle.write(contentsOf: Data(repeating: 0xA5, count: 600))
            try handle.close()
            return true
        } catch { return false }
    }
}
