internal import Glibc
internal import Lifecycle
internal import ProcessTesting
internal import Simulation

/// The plan of a kill test: the numbers of its faults.
package protocol KillTestPlan: Sendable {
    /// A numbered step of the stage, after which a process can end itself.
    associatedtype Step: RawRepresentable<Int>, Hashable, Sendable

    /// The steps at which a process dies, each `killsPerStep` times.
    var steps: [Step] { get }
    var killsPerStep: Int { get }
    /// The number of kills at random moments.
    var randomKills: Int { get set }
    /// The number of freezes, and also of restarts in order.
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

/// The stage's part of a kill test: it gives work to the processes, and knows when the work is done.
package protocol KillTestScenario<Step>: AnyObject {
    associatedtype Step: RawRepresentable<Int>

    /// Steps from this one on happen once per partition, so few processes reach them twice.
    var firstRareStep: Step { get }
    /// The time limit for the remaining work at the end.
    var settleSecondsMax: Int { get }
    /// Writes records for the stage.
    func work(at moment: KillTestMoment)
    /// Returns whether all sent records are stored.
    func finish() -> Bool
    /// Whether no work is left.
    func isSettled() throws -> Bool
    /// Called when a process is dead, before the next one opens its data directory.
    func processDied(leaving data: String)
}

extension KillTestScenario {
    package func processDied(leaving data: String) {}
}

/// A moment at which a scenario writes records.
package enum KillTestMoment {
    /// Before each fault. The faults are numbered from 1.
    case beforeFault(Int, of: Int)
    /// While a process is frozen beyond its session.
    case whileFrozen
    /// Repeatedly until a process reaches its step, because some steps need new records.
    case beforeStep(round: Int)
}

/// A kill test of two processes of a stage. They die at every numbered step and at random moments, freeze beyond their
/// session and wake as zombies, and stop in order. A process that traps fails the test.
package final class KillTestRunner<Plan: KillTestPlan> {
    private enum Fault: CustomStringConvertible {
        case killAtStep(Plan.Step)
        case kill
        case freeze
        case freezeAtStep(Plan.Step)
        /// A stop in order and a new start.
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

    private static var roundMilliseconds: Int { 50 }
    /// The limit of rounds until a step counts as not reached. A process with an unusable file first restores a million
    /// rows.
    private static var roundsMax: Int { 1200 }
    /// The time by which a freeze exceeds the session.
    private static var freezeExcessMilliseconds: Int { 2500 }
    /// A step that happens often is reached up to this many times before the process dies there.
    private static var occurrencesMax: Int { 3 }

    private let plan: Plan
    private let directory: String
    /// Starts the process 0 or 1 on its own data directory.
    private let startProcess: (_ number: Int, _ halt: StageProcess.PlannedHalt?) throws -> StageProcess
    private var random: SeededGenerator
    private var processes: [StageProcess] = []
    package private(set) var killCount = 0
    package private(set) var reachedSteps: Set<Plan.Step> = []

    /// - Parameters:
    ///   - program: The path of `flotilla-bench`.
    ///   - extraArguments: Additional arguments of the worker.
    package init(
        plan: Plan, worker: StageProcess.Worker, program: String, bed: TestBed, directory: String,
        extraArguments: [String] = []
    ) {
        self.plan = plan
        self.directory = directory
        random = SeededGenerator(seed: plan.seed)
        startProcess = { number, halt in
            try StageProcess(
                worker, of: program, on: bed, data: "\(directory)/\(number)", halt: halt,
                extraArguments: extraArguments)
        }
    }

    /// Injects all faults of the plan while the scenario gives work, and then waits until no work is left.
    package func run(_ scenario: some KillTestScenario<Plan.Step>) async throws {
        let faults = shuffledFaults()
        processes = [try startProcess(0, nil), try startProcess(1, nil)]
        let startedAt = Instant.now()
        for (index, fault) in faults.enumerated() {
            let seconds = Instant.now().milliseconds(since: startedAt) / 1000
            plan.report("fault \(index + 1) of \(faults.count): \(fault); \(seconds) s")
            scenario.work(at: .beforeFault(index + 1, of: faults.count))
            try await inject(fault, intoProcess: random.number(below: 2), during: scenario)
        }
        plan.report("waiting for the remaining work")
        guard scenario.finish() else { throw KillTestFailure("the sent records were not stored") }
        try await waitUntilSettled(scenario)
        for process in processes { process.stop() }
        for process in processes { try await waitForEnd(of: process) }
    }

    /// Returns the faults of the plan in random order.
    private func shuffledFaults() -> [Fault] {
        var faults: [Fault] = []
        for _ in 0..<plan.killsPerStep { faults += plan.steps.map { .killAtStep($0) } }
        faults += Array(repeating: .kill, count: plan.randomKills)
        for index in 0..<plan.freezeCount {
            let step = index.isMultiple(of: 2) ? plan.frozenSteps.randomElement(using: &random) : nil
            faults.append(step.map { .freezeAtStep($0) } ?? .freeze)
        }
        faults += Array(repeating: .restart, count: plan.freezeCount)
        faults.shuffle(using: &random)
        return faults
    }

    private func inject(
        _ fault: Fault, intoProcess number: Int, during scenario: some KillTestScenario<Plan.Step>
    ) async throws {
        let process = processes[number]
        switch fault {
        case .killAtStep(let step):
            // The old process is replaced by one that dies at the step.
            try await kill(process, number: number, in: scenario)
            let isRare = step.rawValue >= scenario.firstRareStep.rawValue
            let death = StageProcess.PlannedHalt(
                .death, atStep: step.rawValue,
                occurrence: isRare ? 1 : 1 + random.number(below: Self.occurrencesMax))
            let dyingProcess = try startProcess(number, death)
            let hasReachedStep = try await waitUntilHalted(dyingProcess, during: scenario)
            if hasReachedStep { reachedSteps.insert(step) }
            try await kill(dyingProcess, number: number, in: scenario)
            processes[number] = try startProcess(number, nil)
        case .kill:
            try await Task.sleep(for: .milliseconds(20 + random.number(below: 1500)))
            try await kill(process, number: number, in: scenario)
            processes[number] = try startProcess(number, nil)
        case .freeze:
            process.freeze()
            try await leaveFrozen(process, during: scenario)
        case .freezeAtStep(let step):
            try await kill(process, number: number, in: scenario)
            let stop = StageProcess.PlannedHalt(
                .stop, atStep: step.rawValue, occurrence: 1 + random.number(below: Self.occurrencesMax))
            let stoppingProcess = try startProcess(number, stop)
            processes[number] = stoppingProcess
            guard try await waitUntilHalted(stoppingProcess, during: scenario) else {
                throw KillTestFailure("the process did not reach \(step), so the test proves nothing")
            }
            try await leaveFrozen(stoppingProcess, during: scenario)
        case .restart:
            process.stop()
            try await waitForEnd(of: process)
            processes[number] = try startProcess(number, nil)
        }
    }

    private func kill(
        _ process: StageProcess, number: Int, in scenario: some KillTestScenario<Plan.Step>
    ) async throws {
        process.kill()
        try await waitForEnd(of: process)
        killCount += 1
        scenario.processDied(leaving: "\(directory)/\(number)")
    }

    /// Waits for the end of a process, which may have ended in order before. A trap is a failure, even in a
    /// library, because the kill would hide it.
    private func waitForEnd(of process: StageProcess) async throws {
        let status = try await process.process.exitStatus()
        let errors = process.process.errors
        let endedByTrap = [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP].contains(-status)
        // A process can be killed while it writes its crash report.
        let wroteCrashReport = errors.contains("*** Signal ")
        if endedByTrap || wroteCrashReport {
            throw KillTestFailure("a process trapped: \(errors.suffix(800))")
        }
    }

    /// Leaves a process frozen beyond its session, so that it wakes when the other process has its
    /// partitions.
    private func leaveFrozen(_ process: StageProcess, during scenario: some KillTestScenario<Plan.Step>)
        async throws
    {
        scenario.work(at: .whileFrozen)
        try await Task.sleep(
            for: .milliseconds(StageProcess.sessionMilliseconds + Self.freezeExcessMilliseconds))
        process.resume()
    }

    /// Waits until the process dies or stops at its step. Returns false if it does not reach the step.
    private func waitUntilHalted(_ process: StageProcess, during scenario: some KillTestScenario<Plan.Step>)
        async throws -> Bool
    {
        for round in 0..<Self.roundsMax {
            if process.isHalted { return true }
            scenario.work(at: .beforeStep(round: round))
            try await Task.sleep(for: .milliseconds(Self.roundMilliseconds))
        }
        return false
    }

    /// Waits until everything is committed. A process that exited is started again, as a supervisor does.
    private func waitUntilSettled(_ scenario: some KillTestScenario<Plan.Step>) async throws {
        let checksPerSecond = 10
        for _ in 0..<checksPerSecond * scenario.settleSecondsMax {
            for number in processes.indices where !processes[number].isRunning {
                try await waitForEnd(of: processes[number])
                processes[number] = try startProcess(number, nil)
            }
            if try scenario.isSettled() { return }
            try await Task.sleep(for: .milliseconds(1000 / checksPerSecond))
        }
        throw KillTestFailure("work is left over: \(processes.map { $0.process.errors.suffix(800) })")
    }
}

/// An error of a kill test that could not be carried out, or in which a process trapped.
package struct KillTestFailure: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}
