package import IngestTesting
internal import Kafka
internal import LiveActivity
package import Scheduler
internal import Simulation
internal import Telemetry
internal import Topics

/// A test that kills two processes of the scheduler repeatedly while orders arrive and timers fire. It kills
/// them at every numbered step and at random moments. It also freezes them beyond their session, so that they
/// wake as zombies, and stops them in order. At the end each order has one answer, and each timer has one
/// fate.
package final class SchedulerKills: KillScene {
    package struct Plan: KillPlan {
        package var orders = 2000
        /// The number of kills at each step.
        package var rounds = 1
        /// All steps but one. The scheduler asks for the time only if no order brings it.
        package var steps = SchedulerStep.allCases.filter { $0 != .timeRequested }
        package var randomKills = 3
        package var freezes = 1
        /// Per 1,000 records: records that are not orders, and ends that a planner asks for.
        package var poison = 10
        package var ends = 100
        package var seed: UInt64 = 1

        package init() {}
    }

    package struct Result: Sendable {
        package var kills = 0
        package var stepsMet: Set<SchedulerStep> = []
        package var fired = 0
        package var canceled = 0
        package var replaced = 0
        package var ended = 0
        package var deadLetters = 0
        /// The fault, or nil if everything is right.
        package var fault: String?
    }

    private let plan: Plan
    private let bed: IngestBed
    private let pair: KilledPair<Plan>
    private let sender: ReportSender
    private let planner: ReportSender
    private var mix: OrderMix
    private var ends: EndMix
    private var chance: SeededGenerator

    package init(_ plan: Plan, program: String, bed: IngestBed, directory: String) throws {
        self.plan = plan
        self.bed = bed
        pair = KilledPair(plan, .scheduler, of: program, on: bed, directory: directory)
        sender = try ReportSender(bed, to: .schedules)
        planner = try ReportSender(bed, to: .schedulesAuto)
        mix = OrderMix(seed: plan.seed, partitions: bed.layout.partitions(of: .replies))
        ends = EndMix(seed: plan.seed)
        chance = SeededGenerator(plan.seed)
    }

    package func run() async throws -> Result {
        try await pair.run(self)
        let judge = try SchedulerJudge(bed)
        let letters = try TopicContent(.deadLetters, bed)
        let buried = Set(
            letters.records.map { letter in
                ["flotilla-dead-topic", "flotilla-dead-partition", "flotilla-dead-offset"]
                    .map { letter.headers[$0] ?? "" }.joined(separator: "/")
            })
        var result = Result()
        (result.kills, result.stepsMet) = (pair.kills, pair.stepsMet)
        (result.fired, result.canceled, result.replaced) = (judge.fired, judge.canceled, judge.replaced)
        result.ended = judge.ended
        result.deadLetters = buried.count
        result.fault = judge.fault
        if result.fault == nil, buried != judge.misfits {
            result.fault = "\(buried.count) records are dead letters, expected \(judge.misfits.count)"
        }
        return result
    }

    package var firstRareStep: SchedulerStep { .assigned }
    package var settleSeconds: Int { 120 }

    package func work(_ moment: KillMoment) {
        switch moment {
        case .act(let number, let count): send(plan.orders * number / count - sent)
        case .isFrozen: send(20)
        case .awaitsStep: send(3)
        }
    }

    private func send(_ count: Int) {
        for _ in 0..<max(0, count) {
            let now = WallTime.now().milliseconds
            let writer = chance.below(1000) < plan.ends ? planner : sender
            if chance.below(1000) < plan.poison {
                writer.send(key: Array("shop/poison".utf8), value: Poison.any(&chance))
            } else if writer === planner {
                let end = ends.next(at: now)
                planner.send(key: end.key, value: end.encoded())
            } else {
                let order = mix.next(at: now)
                sender.send(key: order.key, value: order.encoded())
            }
        }
    }

    private var sent: Int { sender.sent + planner.sent }

    package func finish() -> Bool { sender.finish() && planner.finish() }

    /// Returns whether everything is committed and no timer waits.
    package func isSettled() throws -> Bool {
        guard bed.isRead(by: "scheduler", [.schedules, .schedulesAuto]) else { return false }
        return try TopicContent(.timers, bed).newest.keys.allSatisfy { key in
            unsafe key.withUnsafeBytes { unsafe ScheduleIdempotencyRow.isKey($0) }
        }
    }
}
