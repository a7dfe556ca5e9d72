internal import Glibc
internal import ProcessTesting
internal import Simulation

/// The plan of a kill test.
package protocol KillPlan: Sendable {
    associatedtype Step: RawRepresentable<Int>, Hashable, Sendable

    /// The steps at which a process dies, each `rounds` times.
    var steps: [Step] { get }
    var rounds: Int { get }
    var randomKills: Int { get set }
    var freezes: Int { get set }
    /// The steps at which a transaction is open or about to open. Every other freeze, starting with the
    /// first, is at one of them, so that the woken process continues its transaction. Without such steps, all
    /// freezes are at random moments.
    var frozenSteps: [Step] { get }
    var seed: UInt64 { get set }
}

extension KillPlan {
    package var frozenSteps: [Step] { [] }
}

/// The work of a stage while it is killed.
package protocol KillScene<Step>: AnyObject {
    associatedtype Step: RawRepresentable<Int>

    /// Steps from this one on happen once per partition, so few processes reach them twice.
    var firstRareStep: Step { get }
    /// The time limit for the remaining work at the end.
    var settleSeconds: Int { get }
    func work(_ moment: KillMoment)
    /// Returns whether all sent records are stored.
    func finish() -> Bool
    /// Whether no work is left.
    func isSettled() throws -> Bool
    /// Called when a process is dead, before the next one finds its data.
    func died(leaving data: String)
}

extension KillScene {
    package func died(leaving data: String) {}
}

package enum KillMoment {
    case act(Int, of: Int)
    case isFrozen
    /// Work must continue until the step is reached, because some steps need it.
    case awaitsStep(round: Int)
}

/// Two processes of a stage under a kill test. They die at every numbered step and at random moments, freeze
/// beyond their session and wake as zombies, and stop in order.
package final class KilledPair<Plan: KillPlan> {
    private enum Act {
        case dieAt(Plan.Step)
        case kill
        case freeze
        case freezeAt(Plan.Step)
        case restart
    }

    /// The limit of 50 ms rounds until a step counts as not reached. A process with an unusable file first
    /// restores a million rows.
    private static var roundsMax: Int { 1200 }

    private let plan: Plan
    private let directory: String
    private let start: (_ which: Int, _ death: StageProcess.Death?) throws -> StageProcess
    private var chance: SeededGenerator
    private var pair: [StageProcess] = []
    package private(set) var kills = 0
    package private(set) var stepsMet: Set<Plan.Step> = []

    /// - Parameter program: The path of `flotilla-bench`.
    package init(
        _ plan: Plan, _ worker: StageProcess.Worker, of program: String, on bed: IngestBed, directory: String
    ) {
        self.plan = plan
        self.directory = directory
        chance = SeededGenerator(plan.seed)
        start = { which, death in
            try StageProcess(worker, of: program, on: bed, data: "\(directory)/\(which)", death: death)
        }
    }

    package func run(_ scene: some KillScene<Plan.Step>) async throws {
        var acts: [Act] = []
        for _ in 0..<plan.rounds { acts += plan.steps.map { .dieAt($0) } }
        acts += Array(repeating: .kill, count: plan.randomKills)
        for number in 0..<plan.freezes {
            let step = number.isMultiple(of: 2) ? plan.frozenSteps.randomElement(using: &chance) : nil
            acts.append(step.map { .freezeAt($0) } ?? .freeze)
        }
        acts += Array(repeating: .restart, count: plan.freezes)
        acts.shuffle(using: &chance)
        pair = [try start(0, nil), try start(1, nil)]
        for (number, act) in acts.enumerated() {
            scene.work(.act(number + 1, of: acts.count))
            try await play(act, on: chance.below(2), scene)
        }
        guard scene.finish() else { throw KillFault("the sent records were not stored") }
        try await settle(scene)
        for process in pair { process.stop() }
        for process in pair { try await end(of: process) }
    }

    private func play(_ act: Act, on which: Int, _ scene: some KillScene<Plan.Step>) async throws {
        let victim = pair[which]
        switch act {
        case .dieAt(let step):
            // The old process is replaced by one that dies at the step.
            try await kill(victim, number: which, in: scene)
            let isRare = step.rawValue >= scene.firstRareStep.rawValue
            let death = StageProcess.Death(step: step.rawValue, time: isRare ? 1 : 1 + chance.below(3))
            let doomed = try start(which, death)
            if try await halts(doomed, scene) { stepsMet.insert(step) }
            try await kill(doomed, number: which, in: scene)
            pair[which] = try start(which, nil)
        case .kill:
            try await Task.sleep(for: .milliseconds(20 + chance.below(1500)))
            try await kill(victim, number: which, in: scene)
            pair[which] = try start(which, nil)
        case .freeze:
            victim.freeze()
            try await leaveFrozen(victim, scene)
        case .freezeAt(let step):
            try await kill(victim, number: which, in: scene)
            let doomed = try start(
                which, .init(step: step.rawValue, time: 1 + chance.below(3), isStop: true))
            pair[which] = doomed
            guard try await halts(doomed, scene) else {
                throw KillFault("the process did not reach \(step), so the test proves nothing")
            }
            try await leaveFrozen(doomed, scene)
        case .restart:
            victim.stop()
            try await end(of: victim)
            pair[which] = try start(which, nil)
        }
    }

    private func kill(
        _ victim: StageProcess, number which: Int, in scene: some KillScene<Plan.Step>
    ) async throws {
        victim.kill()
        try await end(of: victim)
        kills += 1
        scene.died(leaving: "\(directory)/\(which)")
    }

    /// Waits for the end of a process. It may have ended in order before. A trap is a failure, even in a
    /// library, because the kill would hide it.
    private func end(of process: StageProcess) async throws {
        let status = try await process.process.exitStatus()
        let errors = process.process.errors
        // The second check covers a process that was killed while it wrote its crash report.
        guard
            [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP].contains(-status)
                || errors.contains("*** Signal ")
        else { return }
        throw KillFault("a process trapped: \(errors.suffix(800))")
    }

    /// Leaves a process frozen beyond its session, so that it wakes when the other process has its
    /// partitions.
    private func leaveFrozen(_ victim: StageProcess, _ scene: some KillScene<Plan.Step>) async throws {
        scene.work(.isFrozen)
        try await Task.sleep(for: .milliseconds(StageProcess.sessionMilliseconds + 2500))
        victim.thaw()
    }

    /// Returns whether the process reached its step, where it dies or stops.
    private func halts(_ doomed: StageProcess, _ scene: some KillScene<Plan.Step>) async throws -> Bool {
        for round in 0..<Self.roundsMax {
            if doomed.isHalted { return true }
            scene.work(.awaitsStep(round: round))
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    /// Waits until everything is committed. A process that exited is started again, as a supervisor does.
    private func settle(_ scene: some KillScene<Plan.Step>) async throws {
        for _ in 0..<10 * scene.settleSeconds {
            for which in pair.indices where !pair[which].isRunning {
                try await end(of: pair[which])
                pair[which] = try start(which, nil)
            }
            if try scene.isSettled() { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw KillFault("work is left over: \(pair.map { $0.process.errors.suffix(800) })")
    }
}

package struct KillFault: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}
