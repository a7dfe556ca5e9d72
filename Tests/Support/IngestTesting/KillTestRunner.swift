internal import Glibc
internal import Lifecycle
internal import ProcessTesting
internal import Simulation

/// The plan of a kill test.
package protocol KillTestPlan: Sendable {
    associatedtype Step: RawRepresentable<Int>, Hashable, Sendable

    /// The steps at which a process dies, each `rounds` times.
    var steps: [Step] { get }
    var killsPerStep: Int { get }
    var randomKills: Int { get set }
    var freezeCount: Int { get set }
    /// The steps at which a transaction is open or about to open. Every other freeze, starting with the
    /// first, is at one of them, so that the woken process continues its transaction. Without such steps, all
    /// freezes are at random moments.
    var frozenSteps: [Step] { get }
    var seed: UInt64 { get set }
    /// Called with a line about the progress of the test.
    var report: @Sendable (String) -> Void { get set }
}

extension KillTestPlan {
    package var frozenSteps: [Step] { [] }
}

/// The work of a stage while it is killed.
package protocol KillTestScenario<Step>: AnyObject {
    associatedtype Step: RawRepresentable<Int>

    /// Steps from this one on happen once per partition, so few processes reach them twice.
    var firstRareStep: Step { get }
    /// The time limit for the remaining work at the end.
    var settleSecondsMax: Int { get }
    func work(at moment: KillTestMoment)
    /// Returns whether all sent records are stored.
    func finish() -> Bool
    /// Whether no work is left.
    func isSettled() throws -> Bool
    /// Called when a process is dead, before the next one finds its data.
    func processDied(leaving data: String)
}

extension KillTestScenario {
    package func processDied(leaving data: String) {}
}

package enum KillTestMoment {
    case beforeFault(Int, of: Int)
    case whileFrozen
    /// Work must continue until the step is reached, because some steps need it.
    case beforeStep(round: Int)
}

/// Two processes of a stage under a kill test. They die at every numbered step and at random moments, freeze
/// beyond their session and wake as zombies, and stop in order.
package final class KillTestRunner<Plan: KillTestPlan> {
    private enum Fault: CustomStringConvertible {
        case killAtStep(Plan.Step)
        case kill
        case freeze
        case freezeAtStep(Plan.Step)
        case restart

        var description: String {
            switch self {
            case .killAtStep(let step): "a kill at the step \(step)"
            case .kill: "a kill"
            case .freeze: "a freeze"
            case .freezeAtStep(let step): "a freeze at the step \(step)"
            case .restart: "a restart"
            }
        }
    }

    /// The limit of 50 ms rounds until a step counts as not reached. A process with an unusable file first
    /// restores a million rows.
    private static var roundsMax: Int { 1200 }

    private let plan: Plan
    private let directory: String
    private let startProcess: (_ which: Int, _ death: StageProcess.PlannedDeath?) throws -> StageProcess
    private var random: SeededGenerator
    private var processes: [StageProcess] = []
    package private(set) var killCount = 0
    package private(set) var reachedSteps: Set<Plan.Step> = []

    /// - Parameter program: The path of `flotilla-bench`.
    package init(
        plan: Plan, worker: StageProcess.Worker, program: String, bed: TestBed, directory: String
    ) {
        self.plan = plan
        self.directory = directory
        random = SeededGenerator(seed: plan.seed)
        startProcess = { which, death in
            try StageProcess(worker, of: program, on: bed, data: "\(directory)/\(which)", death: death)
        }
    }

    package func run(_ scenario: some KillTestScenario<Plan.Step>) async throws {
        var faults: [Fault] = []
        for _ in 0..<plan.killsPerStep { faults += plan.steps.map { .killAtStep($0) } }
        faults += Array(repeating: .kill, count: plan.randomKills)
        for number in 0..<plan.freezeCount {
            let step = number.isMultiple(of: 2) ? plan.frozenSteps.randomElement(using: &random) : nil
            faults.append(step.map { .freezeAtStep($0) } ?? .freeze)
        }
        faults += Array(repeating: .restart, count: plan.freezeCount)
        faults.shuffle(using: &random)
        processes = [try startProcess(0, nil), try startProcess(1, nil)]
        let began = Instant.now()
        for (number, act) in faults.enumerated() {
            let seconds = Instant.now().milliseconds(since: began) / 1000
            plan.report("fault \(number + 1) of \(faults.count): \(act); \(seconds) s")
            scenario.work(at: .beforeFault(number + 1, of: faults.count))
            try await inject(act, into: random.number(below: 2), during: scenario)
        }
        plan.report("waiting for the remaining work")
        guard scenario.finish() else { throw KillTestFailure("the sent records were not stored") }
        try await waitUntilSettled(scenario)
        for process in processes { process.stop() }
        for process in processes { try await waitForEnd(of: process) }
    }

    private func inject(_ fault: Fault, into which: Int, during scene: some KillTestScenario<Plan.Step>)
        async throws
    {
        let process = processes[which]
        switch fault {
        case .killAtStep(let step):
            // The old process is replaced by one that dies at the step.
            try await kill(process, number: which, in: scene)
            let isRare = step.rawValue >= scene.firstRareStep.rawValue
            let death = StageProcess.PlannedDeath(
                step: step.rawValue, time: isRare ? 1 : 1 + random.number(below: 3))
            let dying = try startProcess(which, death)
            if try await waitUntilHalted(dying, during: scene) { reachedSteps.insert(step) }
            try await kill(dying, number: which, in: scene)
            processes[which] = try startProcess(which, nil)
        case .kill:
            try await Task.sleep(for: .milliseconds(20 + random.number(below: 1500)))
            try await kill(process, number: which, in: scene)
            processes[which] = try startProcess(which, nil)
        case .freeze:
            process.freeze()
            try await leaveFrozen(process, during: scene)
        case .freezeAtStep(let step):
            try await kill(process, number: which, in: scene)
            let dying = try startProcess(
                which, .init(step: step.rawValue, time: 1 + random.number(below: 3), isStop: true))
            processes[which] = dying
            guard try await waitUntilHalted(dying, during: scene) else {
                throw KillTestFailure("the process did not reach \(step), so the test proves nothing")
            }
            try await leaveFrozen(dying, during: scene)
        case .restart:
            process.stop()
            try await waitForEnd(of: process)
            processes[which] = try startProcess(which, nil)
        }
    }

    private func kill(
        _ victim: StageProcess, number which: Int, in scene: some KillTestScenario<Plan.Step>
    ) async throws {
        victim.kill()
        try await waitForEnd(of: victim)
        killCount += 1
        scene.processDied(leaving: "\(directory)/\(which)")
    }

    /// Waits for the end of a process. It may have ended in order before. A trap is a failure, even in a
    /// library, because the kill would hide it.
    private func waitForEnd(of process: StageProcess) async throws {
        let status = try await process.process.exitStatus()
        let errors = process.process.errors
        // The second check covers a process that was killed while it wrote its crash report.
        guard
            [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP].contains(-status)
                || errors.contains("*** Signal ")
        else { return }
        throw KillTestFailure("a process trapped: \(errors.suffix(800))")
    }

    /// Leaves a process frozen beyond its session, so that it wakes when the other process has its
    /// partitions.
    private func leaveFrozen(_ process: StageProcess, during scene: some KillTestScenario<Plan.Step>)
        async throws
    {
        scene.work(at: .whileFrozen)
        try await Task.sleep(for: .milliseconds(StageProcess.sessionMilliseconds + 2500))
        process.resume()
    }

    /// Returns whether the process reached its step, where it dies or stops.
    private func waitUntilHalted(_ process: StageProcess, during scene: some KillTestScenario<Plan.Step>)
        async throws -> Bool
    {
        for round in 0..<Self.roundsMax {
            if process.isHalted { return true }
            scene.work(at: .beforeStep(round: round))
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    /// Waits until everything is committed. A process that exited is started again, as a supervisor does.
    private func waitUntilSettled(_ scene: some KillTestScenario<Plan.Step>) async throws {
        for _ in 0..<10 * scene.settleSecondsMax {
            for which in processes.indices where !processes[which].isRunning {
                try await waitForEnd(of: processes[which])
                processes[which] = try startProcess(which, nil)
            }
            if try scene.isSettled() { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw KillTestFailure("work is left over: \(processes.map { $0.process.errors.suffix(800) })")
    }
}

package struct KillTestFailure: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}
