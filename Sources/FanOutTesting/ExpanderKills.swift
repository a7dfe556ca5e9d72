package import FanOut
package import IngestTesting
internal import LiveActivity
internal import ProcessTesting
internal import Simulation
internal import Topics

/// Two processes of the expander die again and again while sends expand: at every numbered step, at random
/// moments, frozen beyond their session and woken as zombies, and stopped in order. In the end each token must
/// have exactly one job of each send.
package final class ExpanderKills {
    package struct Plan: Sendable {
        package var phones = 3000
        /// How often each step kills.
        package var rounds = 1
        package var steps = ExpanderStep.allCases
        package var randomKills = 3
        package var freezes = 1
        package var seed: UInt64 = 1

        package init() {}
    }

    package struct Result: Sendable {
        package var kills = 0
        package var stepsMet: Set<ExpanderStep> = []
        package var sends = 0
        package var jobs = 0
        /// Nil: everything is exactly right.
        package var fault: String?
    }

    private enum Act {
        case dieAt(ExpanderStep)
        case kill
        case freeze
        case restart
    }

    /// Whom a send has to reach.
    private enum Reach {
        case starts
        case updates
        case one(String)
    }

    private let plan: Plan
    private let bed: IngestBed
    private let program: String
    private let directory: String
    private let world: ExpanderBed
    private var chance: SeededGenerator
    private var starts: Set<String> = []
    private var updates: Set<String> = []
    private var singles: [String] = []
    private var reaches: [String: Reach] = [:]
    private var result = Result()

    package init(_ plan: Plan, program: String, bed: IngestBed, directory: String) throws {
        self.plan = plan
        self.program = program
        self.bed = bed
        self.directory = directory
        world = try ExpanderBed(bed)
        chance = SeededGenerator(plan.seed)
    }

    package func run() async throws -> Result {
        for number in 0..<plan.phones {
            starts.insert(world.report("p\(number)", .start(type: "Match")))
            let token = world.report("p\(number)", .update(activity: "a\(number)"), group: "match")
            updates.insert(token)
            if number < 50 { singles.append(token) }
        }
        guard world.finish() else { throw Fault("the registry was not stored") }
        var acts: [Act] = []
        for _ in 0..<plan.rounds { acts += plan.steps.map { .dieAt($0) } }
        acts += Array(repeating: .kill, count: plan.randomKills)
        acts += Array(repeating: .freeze, count: plan.freezes)
        acts += Array(repeating: .restart, count: plan.freezes)
        acts.shuffle(using: &chance)
        var pair = [try start(0), try start(1)]
        for act in acts {
            send()
            let which = chance.below(2)
            pair[which] = try await play(act, with: pair[which], which)
        }
        try await settle(&pair)
        for process in pair { process.stop() }
        for process in pair { _ = try await process.process.exitStatus() }
        try judge()
        return result
    }

    private func start(_ which: Int, _ death: (ExpanderStep, Int)? = nil) throws -> ExpanderProcess {
        try ExpanderProcess(program, bed, data: "\(directory)/\(which)", death: death)
    }

    /// A start of a new group, an update of the one that all have, or an update for one of them.
    private func send() {
        let number = reaches.count + 1
        let version = 1_763_600_000 + Int64(number)
        let send = "s\(number)"
        var expansion: Expansion
        switch chance.below(3) {
        case 0:
            expansion = ExpanderBed.expansion(
                .start, of: "group-\(number)", send: send, version: version, generation: version)
            reaches[send] = .starts
        case 1:
            expansion = ExpanderBed.expansion(.update, of: "match", send: send, version: version)
            reaches[send] = .updates
        default:
            let one = chance.below(singles.count)
            expansion = ExpanderBed.expansion(
                .update, of: "match", send: send, version: version, to: "p\(one)")
            reaches[send] = .one(singles[one])
        }
        // Each is to reach everybody, whatever is newer.
        expansion.conflate = false
        world.expand(expansion)
        result.sends += 1
    }

    private func play(_ act: Act, with victim: ExpanderProcess, _ which: Int) async throws -> ExpanderProcess
    {
        switch act {
        case .dieAt(let step):
            // The old one makes room for one that knows when to die.
            victim.kill()
            _ = try await victim.process.exitStatus()
            let isRare = step.rawValue >= ExpanderStep.viewSettled.rawValue
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
            // Longer than its session: it wakes when its lanes are the other's.
            victim.freeze()
            send()
            try await Task.sleep(for: .milliseconds(ExpanderProcess.sessionMilliseconds + 2500))
            victim.thaw()
            return victim
        case .restart:
            victim.stop()
            _ = try await victim.process.exitStatus()
            return try start(which)
        }
    }

    /// Whether it met its step; sends come until then, as some steps want them.
    private func dies(_ doomed: ExpanderProcess) async throws -> Bool {
        for round in 0..<400 {
            if !doomed.isRunning { return true }
            if round % 10 == 0 { send() }
            // Of a group of which nobody has heard.
            world.report("late-\(round)", .update(activity: "late-\(round)"), group: "unknown")
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    /// Until everything is committed. A process that gave up is started again, as a supervisor would.
    private func settle(_ pair: inout [ExpanderProcess]) async throws {
        guard world.finish() else { throw Fault("the sends were not stored") }
        for _ in 0..<3000 {
            for which in pair.indices where !pair[which].isRunning { pair[which] = try start(which) }
            if world.isDone() { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw Fault("expansions are left over: \(pair.map { $0.process.errors.suffix(800) })")
    }

    private func judge() throws {
        var found: [String: [String: Int]] = [:]
        for job in try ExpanderBed.jobs(in: bed) {
            found[job.send, default: [:]][job.token, default: 0] += 1
            result.jobs += 1
        }
        for (send, reach) in reaches.sorted(by: { $0.key < $1.key }) {
            let wanted: Set<String> =
                switch reach {
                case .starts: starts
                case .updates: updates
                case .one(let token): [token]
                }
            let jobs = found.removeValue(forKey: send) ?? [:]
            let doubled = jobs.filter { $0.value != 1 }.count
            let missing = wanted.subtracting(jobs.keys).count
            let strange = Set(jobs.keys).subtracting(wanted).count
            if doubled + missing + strange > 0 {
                result.fault =
                    "\(send): \(missing) of \(wanted.count) jobs are missing, \(doubled) doubled, \(strange) strange"
                return
            }
            let lanes = try ExpanderBed.tallies(of: send, in: bed).count
            let all = if case .one = reach { 1 } else { bed.layout.lanes }
            if lanes != all { result.fault = "\(send): \(lanes) lanes closed it, not \(all)" }
        }
        if !found.isEmpty {
            result.fault = "jobs of sends that nobody sent: \(found.keys.sorted().prefix(3))"
        }
    }

    package struct Fault: Error, CustomStringConvertible {
        package let description: String
        init(_ description: String) { self.description = description }
    }
}
