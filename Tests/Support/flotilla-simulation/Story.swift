import Glibc
import Ingest
import Kafka
import Lifecycle
import Simulation
import StageSupport
import Telemetry

/// One story: an installation of Flotilla in simulated days, with its phones, its backend and many faults. The seed
/// decides everything in it.
final class Story {
    private static let groups = ["match", "final", "order"]
    /// The time after the last step in which everything must have its effect. It is longer than the waits of all
    /// attempts of a push.
    private static let settleMilliseconds = 240_000

    let world: World
    private let parameters: StoryParameters
    private let plan: StoryPlan
    private let fleet: Fleet
    private var apns: VirtualAPNs! = nil
    /// The number of jobs that got their receipts.
    private var jobCount = 0

    init(_ parameters: StoryParameters, tellsStory: Bool) {
        SimulatedLog.startIfShown()
        self.parameters = parameters
        plan = StoryPlan(seed: parameters.seed, minutes: parameters.minutes)
        world = World(
            seed: parameters.seed, lanes: 2 + Int(parameters.seed % 3),
            directory: Self.directory(ofProcess: getpid()), tellsStory: tellsStory)
        fleet = Fleet(phones: 12, in: world)
    }

    /// Plays the story to its end. Returns its facts in one line.
    func play() throws -> String {
        mkdir(world.directory, 0o700)
        world.noteFault(forMilliseconds: 5000)
        apns = try VirtualAPNs(in: world, for: fleet)
        for number in 0..<2 {
            try start("ingest-\(number)", .ingest)
            try start("fan-out-\(number)", .fanOut)
            try start("sender-\(number)", .sender)
            try start("scheduler-\(number)", .scheduler)
        }
        serveCluster()
        cleanCluster()
        for index in fleet.phones.indices {
            world.schedule(inMilliseconds: world.random.number(below: 20_000)) { [unowned self] in
                fleet.reportStartToken(ofPhone: index)
            }
        }
        try playAndSettle(plan.parts[0])
        if !parameters.endsBeforeIdleDays {
            try idle()
            try playAndSettle(plan.parts[1])
        }
        for process in world.processes { process.kill() }
        return
            "\(fleet.pushCount) pushes, \(jobCount) jobs, \(fleet.checkCount) checks, trace \(String(world.trace, radix: 16))"
    }

    /// Performs the steps of one part, and lets the fleet settle. Then everything that was accepted must have had its
    /// effect.
    private func playAndSettle(_ steps: [PlannedStep]) throws {
        let startedAt = world.wallMilliseconds
        for step in steps where !parameters.droppedSteps.contains(step.number) {
            world.schedule(inMilliseconds: step.milliseconds) { [unowned self] in try perform(step) }
        }
        try world.run(forMilliseconds: parameters.minutes * 60_000)
        fleet.endAll(Self.groups + [Fleet.timedGroup])
        try world.run(forMilliseconds: Self.settleMilliseconds)
        jobCount += try ReceiptLaw(in: world).check(since: startedAt - Self.clockErrorMax)
    }

    /// Lets days pass without a step, with running or with stopped processes.
    private func idle() throws {
        let areStopped = world.random.number(below: 3) != 0
        // Stopped processes cost no work, so their idle time can be longer than the seven days for which sends and
        // reports are kept. An idle day of running processes is simulated.
        let days = areStopped ? 1 + world.random.number(below: 9) : 1
        world.tell("nothing happens for \(days) days\(areStopped ? ", and the processes are stopped" : "")")
        let stopped = areStopped ? world.processes : []
        for process in stopped { process.kill() }
        // The clocks are set right. After a silence, a process whose clock is far behind merges no reports for a minute,
        // until their stamps have proven the cluster's time.
        for process in world.processes { process.clockError = 0 }
        world.isIdle = true
        try world.run(forMilliseconds: days * 86_400_000)
        world.isIdle = false
        for process in stopped { try start(process.name, process.stage) }
        world.noteFault(forMilliseconds: 5000)
        try world.run(forMilliseconds: Self.settleMilliseconds)
    }

    private func start(_ name: String, _ stage: SimulatedStage) throws {
        let process = SimulatedProcess(name, running: stage, in: world)
        world.processes.append(process)
        try process.start(Fleet.app, pushingTo: apns)
    }

    // MARK: Files

    private static func directory(ofProcess number: pid_t) -> String {
        "/dev/shm/flotilla-simulation-\(number)"
    }

    /// Removes the data directories of a story that was played in a process.
    static func removeDirectory(ofProcess number: pid_t) { remove(directory(ofProcess: number)) }

    private static func remove(_ directory: String) {
        let command = ["/bin/rm", "-rf", directory]
        var arguments = command.map { strdup($0) } + [nil]
        var child = pid_t()
        if posix_spawn(&child, command[0], nil, nil, &arguments, environ) == 0 { waitpid(child, nil, 0) }
        for argument in arguments { free(argument) }
    }

    // MARK: Time

    private func serveCluster() {
        world.schedule(inMilliseconds: world.isIdle ? 5000 : 100) { [unowned self] in
            world.cluster.serve()
            serveCluster()
        }
    }

    private func cleanCluster() {
        world.schedule(inMilliseconds: 900_000) { [unowned self] in
            world.cluster.clean()
            cleanCluster()
        }
    }

    // MARK: Steps

    private func perform(_ step: PlannedStep) throws {
        var choices = SeededGenerator(seed: step.seed)
        switch step.action {
        case .send: fleet.sendNext(to: Self.groups[choices.number(below: Self.groups.count)], by: &choices)
        case .sendLater: fleet.scheduleUpdate(by: &choices)
        case .rotateToken: fleet.rotateToken(by: &choices)
        case .dismiss: fleet.dismiss(by: &choices)
        case .fault(let fault): make(fault, by: &choices)
        }
    }

    private func make(_ fault: PlannedFault, by choices: inout SeededGenerator) {
        guard !world.processes.isEmpty else { return }
        let process = world.processes[choices.number(below: world.processes.count)]
        let node = choices.number(below: VirtualCluster.nodeCount)
        switch fault {
        case .killedProcess: restart(process, afterMilliseconds: 200 + choices.number(below: 3000))
        case .killInCall:
            let pause = 200 + choices.number(below: 3000)
            process.kill(afterCalls: choices.number(below: 60)) { [unowned self] in
                startLater(process, afterMilliseconds: pause)
            }
        case .lostDataDirectory:
            // The next process has another identity, so the group waits for the old member.
            world.noteFault(forMilliseconds: ConsumerOptions.sessionMillisecondsDefault)
            restart(process, afterMilliseconds: 1000)
            world.tell("the data directory of \(process.name) is lost")
            Self.remove("\(world.directory)/\(process.name)")
        case .stoppedProcess:
            let pause = 1000 + choices.number(below: 30_000)
            world.noteFault(forMilliseconds: pause)
            process.stop(milliseconds: pause)
        case .deadNode:
            let milliseconds = 2000 + choices.number(below: 30_000)
            world.tell("Kafka's node \(node) dies for \(milliseconds) ms")
            world.noteFault(forMilliseconds: milliseconds)
            world.cluster.takeAway(node: node, milliseconds: milliseconds)
        case .lostAnswers:
            let milliseconds = 1000 + choices.number(below: 10_000)
            world.tell("answers of Kafka get lost for \(milliseconds) ms")
            world.noteFault(forMilliseconds: milliseconds)
            world.cluster.answersAreLostUntil = world.now.advanced(byMilliseconds: milliseconds)
        case .wrongClockOfNode:
            let errors = parameters.brokersClocksJump ? Self.largeClockErrors : Self.smallClockErrors
            let error = errors[choices.number(below: errors.count)]
            world.tell("the clock of Kafka's node \(node) is wrong by \(error) ms from now on")
            world.cluster.clockErrors[node] = error
            world.noteFault(forMilliseconds: 1000)
        case .wrongClockOfProcess:
            let error = Self.largeClockErrors[choices.number(below: Self.largeClockErrors.count)]
            world.tell("the clock of \(process.name) is wrong by \(error) ms from now on")
            process.clockError = error * 1_000_000
            guard !process.hasWatchedClocks else { return world.noteFault(forMilliseconds: 1000) }
            // The process has not seen stamps and its clock agree for long enough, so reports wait until newer stamps
            // prove the time, or until an operator sets the clock.
            world.noteFault(
                forMilliseconds: Self.operatorMilliseconds + ClockWait.recheckMilliseconds)
            world.schedule(inMilliseconds: Self.operatorMilliseconds) { process.clockError = 0 }
        case .apnsTrouble:
            let trouble = VirtualAPNs.Trouble.allCases[
                choices.number(below: VirtualAPNs.Trouble.allCases.count)]
            let milliseconds = 1000 + choices.number(below: 20_000)
            world.tell("APNs has trouble for \(milliseconds) ms: \(trouble)")
            world.noteFault(forMilliseconds: milliseconds)
            apns.begin(trouble, forMilliseconds: milliseconds)
        }
    }

    /// Kills a process, and starts it again as a supervisor does.
    private func restart(_ process: SimulatedProcess, afterMilliseconds pause: Int) {
        process.kill()
        startLater(process, afterMilliseconds: pause)
    }

    private func startLater(_ process: SimulatedProcess, afterMilliseconds pause: Int) {
        world.noteFault(forMilliseconds: pause)
        world.schedule(inMilliseconds: pause) { [unowned self] in
            // Its clock is right again, as after the idle days.
            try start(process.name, process.stage)
        }
    }

    /// The time after which an operator sets the clock of a machine whose reports wait.
    private static let operatorMilliseconds = 60_000
    /// The errors of wrong clocks in milliseconds. Zero, which is frequent, sets a clock right. If the clock of a node
    /// went back by more than the small errors, the reports of new tokens would look older than those of the tokens
    /// before, and phones would miss updates.
    private static let smallClockErrors: [Int64] = [0, 100, 300, -200]
    private static let largeClockErrors: [Int64] = [0, 0, 0, 300, -2000, 45_000, -3_600_000, 50_000_000]
    /// The largest of the small errors.
    private static let clockErrorMax: Int64 = 300
}
