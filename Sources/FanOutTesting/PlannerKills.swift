package import FanOut
internal import Glibc
package import IngestTesting
internal import Kafka
internal import LiveActivity
internal import ProcessTesting
internal import Simulation
internal import Topics

/// Two processes of the planner die again and again while sends flow: at every numbered step, at random moments,
/// frozen beyond their session and woken as zombies, and stopped in order. In the end what they wrote must be
/// what the core makes of the sends.
package final class PlannerKills {
    package struct Plan: Sendable {
        package var sends = 2000
        /// How often each step kills.
        package var rounds = 1
        /// All but the forgetting's: nothing is old enough while this runs.
        package var steps = PlannerStep.allCases.filter { $0 != .sweepBegun && $0 != .swept }
        package var randomKills = 3
        package var freezes = 1
        /// Of 1,000 records, those that are no sends.
        package var poison = 10
        package var seed: UInt64 = 1

        package init() {}
    }

    package struct Result: Sendable {
        package var kills = 0
        package var stepsMet: Set<PlannerStep> = []
        package var sends = 0
        package var deadLetters = 0
        /// Nil: everything is exactly right.
        package var fault: String?
    }

    private enum Act {
        case dieAt(PlannerStep)
        case kill
        case freeze
        case restart
    }

    private let plan: Plan
    private let bed: IngestBed
    private let program: String
    private let directory: String
    private let sender: ReportSender
    private var mix: SendMix
    private var chance: SeededGenerator
    private var result = Result()

    package init(_ plan: Plan, program: String, bed: IngestBed, directory: String) throws {
        self.plan = plan
        self.program = program
        self.bed = bed
        self.directory = directory
        sender = try ReportSender(bed, to: .sends)
        mix = SendMix(seed: plan.seed)
        chance = SeededGenerator(plan.seed)
    }

    package func run() async throws -> Result {
        var acts: [Act] = []
        for _ in 0..<plan.rounds { acts += plan.steps.map { .dieAt($0) } }
        acts += Array(repeating: .kill, count: plan.randomKills)
        acts += Array(repeating: .freeze, count: plan.freezes)
        acts += Array(repeating: .restart, count: plan.freezes)
        acts.shuffle(using: &chance)
        var pair = [try start(0), try start(1)]
        for (number, act) in acts.enumerated() {
            send(plan.sends * (number + 1) / acts.count - sender.sent)
            let which = chance.below(2)
            pair[which] = try await play(act, by: pair[which], number: which)
        }
        guard sender.finish() else { throw Fault("the sends were not stored") }
        try await settle(&pair)
        for process in pair { process.stop() }
        for process in pair { _ = try await process.process.exitStatus() }
        try judge()
        return result
    }

    private func start(_ which: Int, _ death: (PlannerStep, Int)? = nil) throws -> PlannerProcess {
        try PlannerProcess(program, bed, data: "\(directory)/\(which)", death: death)
    }

    private func play(_ act: Act, by victim: PlannerProcess, number which: Int) async throws -> PlannerProcess
    {
        switch act {
        case .dieAt(let step):
            // The old one makes room for one that knows when to die.
            victim.kill()
            _ = try await victim.process.exitStatus()
            // What happens once for a partition happens twice to few processes.
            let isRare = step.rawValue >= PlannerStep.assigned.rawValue
            let doomed = try start(which, (step, isRare ? 1 : 1 + chance.below(3)))
            if try await dies(doomed) { result.stepsMet.insert(step) }
            doomed.kill()
            _ = try await doomed.process.exitStatus()
            result.kills += 2
            return try start(which)
        case .kill:
            try await Task.sleep(for: .milliseconds(20 + chance.below(1500)))
            victim.kill()
            _ = try await victim.process.exitStatus()
            result.kills += 1
            return try start(which)
        case .freeze:
            // Longer than its session: it wakes when its partitions are the other's.
            victim.freeze()
            send(20)
            try await Task.sleep(for: .milliseconds(PlannerProcess.sessionMilliseconds + 2500))
            victim.thaw()
            return victim
        case .restart:
            victim.stop()
            _ = try await victim.process.exitStatus()
            return try start(which)
        }
    }

    /// Whether it met its step; sends flow until then, as some steps want them.
    private func dies(_ doomed: PlannerProcess) async throws -> Bool {
        for _ in 0..<400 {
            if !doomed.isRunning { return true }
            send(3)
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
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

    /// Until everything is committed, and nothing waits any more. A process that gave up is started again, as a
    /// supervisor would.
    private func settle(_ pair: inout [PlannerProcess]) async throws {
        for _ in 0..<1200 {
            for which in pair.indices where !pair[which].isRunning { pair[which] = try start(which) }
            if try isSettled() { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw Fault("sends are left over: \(pair.map { $0.process.errors.suffix(800) })")
    }

    private func isSettled() throws -> Bool {
        let places = (0..<Int32(bed.layout.lanes)).map { TopicPartition(bed.layout.name(.sends), $0) }
        guard let lags = try? bed.admin.lag(of: bed.layout.prefix + "planner", places),
            lags.allSatisfy({ $0.records == 0 })
        else { return false }
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
            result.fault = "\(buried.count) records were set aside, \(model.misfits.count) had to be"
        }
    }

    package struct Fault: Error, CustomStringConvertible {
        package let description: String
        init(_ description: String) { self.description = description }
    }
}
