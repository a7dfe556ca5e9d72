package import Ingest
internal import Kafka
internal import LiveActivity
internal import ProcessTesting
internal import Simulation
internal import Topics

/// Two processes of the stage die again and again while reports flow: at every numbered step, at random
/// moments, frozen beyond their session and woken as zombies, and stopped in order. In the end the
/// registry and the events must be what the core makes of the reports, to the byte.
package final class IngestKills {
    package struct Plan: Sendable {
        package var reports = 2000
        package var installations = 400
        /// How often each step kills.
        package var rounds = 1
        /// All but the sweep's: nothing expires while this runs.
        package var steps = IngestStep.allCases.filter { $0 != .sweepBegun && $0 != .swept }
        package var randomKills = 3
        package var freezes = 1
        /// Of 1,000 records: those in a wrong partition, and those that are no reports.
        package var strays = 10
        package var poison = 10
        package var seed: UInt64 = 1

        package init() {}
    }

    package struct Result: Sendable {
        package var kills = 0
        package var stepsMet: Set<Int> = []
        package var reports = 0
        package var rows = 0
        package var events = 0
        package var deadLetters = 0
        /// Nil: everything is exactly right.
        package var fault: String?
    }

    private enum Act {
        case dieAt(step: Int)
        case kill
        case freeze
        case restart
    }

    private let plan: Plan
    private let bed: IngestBed
    private let program: String
    private let directory: String
    private let sender: ReportSender
    private var mix: ReportMix
    private var chance: SeededGenerator
    private var result = Result()

    package init(_ plan: Plan, program: String, bed: IngestBed, directory: String) throws {
        self.plan = plan
        self.program = program
        self.bed = bed
        self.directory = directory
        sender = try ReportSender(bed)
        mix = ReportMix(installations: plan.installations, seed: plan.seed)
        chance = SeededGenerator(plan.seed)
    }

    package func run() async throws -> Result {
        var acts: [Act] = []
        for _ in 0..<plan.rounds { acts += plan.steps.map { .dieAt(step: $0.rawValue) } }
        acts += Array(repeating: .kill, count: plan.randomKills)
        acts += Array(repeating: .freeze, count: plan.freezes)
        acts += Array(repeating: .restart, count: plan.freezes)
        acts.shuffle(using: &chance)
        var pair = [try start(0), try start(1)]
        for (number, act) in acts.enumerated() {
            send(plan.reports * (number + 1) / acts.count - sender.sent)
            let which = chance.below(2)
            pair[which] = try await play(act, pair[which], which)
        }
        guard sender.finish() else { throw Fault("the reports were not stored") }
        try await settle(&pair)
        for process in pair { process.stop() }
        for process in pair { _ = try await process.process.exitStatus() }
        try judge()
        return result
    }

    private func start(_ which: Int, _ death: IngestProcess.Death? = nil) throws -> IngestProcess {
        try IngestProcess(program, bed, data: "\(directory)/\(which)", death: death)
    }

    private func play(_ act: Act, _ victim: IngestProcess, _ which: Int) async throws -> IngestProcess {
        var chance = chance
        defer { self.chance = chance }
        switch act {
        case .dieAt(let step):
            // The old one makes room for one that knows when to die.
            victim.kill()
            _ = try await victim.process.exitStatus()
            // What happens once for a partition happens twice to few processes.
            let isRare = step >= IngestStep.assigned.rawValue
            let time = isRare ? 1 : 1 + chance.below(3)
            let doomed = try start(which, IngestProcess.Death(step: step, time: time))
            let hasMet = try await dies(doomed)
            if hasMet { result.stepsMet.insert(step) }
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
            try await Task.sleep(for: .milliseconds(IngestProcess.sessionMilliseconds + 2500))
            victim.thaw()
            return victim
        case .restart:
            victim.stop()
            _ = try await victim.process.exitStatus()
            return try start(which)
        }
    }

    /// Whether it met its step; reports flow until then, as some steps want them.
    private func dies(_ doomed: IngestProcess) async throws -> Bool {
        for _ in 0..<400 {
            if !doomed.isRunning { return true }
            send(1)
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
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

    /// Until everything is committed. A process that gave up is started again, as a supervisor would.
    private func settle(_ pair: inout [IngestProcess]) async throws {
        let places = (0..<Int32(bed.layout.lanes)).map { TopicPartition(bed.layout.name(.reports), $0) }
        let group = bed.layout.prefix + "ingest"
        for _ in 0..<1200 {
            for which in pair.indices where !pair[which].isRunning { pair[which] = try start(which) }
            if let lags = try? bed.admin.lag(of: group, places), lags.allSatisfy({ $0.records == 0 }) {
                return
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw Fault("reports are left over: \(pair.map { $0.process.errors.suffix(800) })")
    }

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
            result.fault = "\(buried.count) records were set aside, \(model.misfits.count) had to be"
        }
    }

    package struct Fault: Error, CustomStringConvertible {
        package let description: String
        init(_ description: String) { self.description = description }
    }
}
