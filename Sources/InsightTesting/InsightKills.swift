internal import Foundation
package import IngestTesting
package import Insight
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Simulation
internal import Telemetry
internal import Topics

/// Two processes of insight die again and again while a day comes in: at every numbered step, at random moments,
/// frozen beyond their session, and stopped in order; files of those that are dead are deleted and damaged. In the
/// end every figure of every view is what the topics say.
package final class InsightKills: KillScene {
    package struct Plan: KillPlan {
        package var records = 6000
        /// How often each step kills.
        package var rounds = 1
        /// All but one: a day is not old enough for anything to be forgotten.
        package var steps = InsightStep.allCases.filter { $0 != .forgotten }
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
        /// Nil: every figure is equal.
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

    // MARK: Its scene

    package var firstRareStep: InsightStep { .assigned }
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
                preconditionFailure("the day was not written: \(error)")
            }
        }
    }

    package func finish() -> Bool { writer.finish() }

    /// Everything is entered.
    package func isSettled() -> Bool { RevivedInsight.hasReadAll(of: bed) }

    /// What a dead process has left is deleted or damaged now and then.
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

    /// The beginning of a page, where both kinds of files say what it is.
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
