import CatalogRecords
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
    /// The time after the last step in which everything must have its effect. It is longer than the waits of all tries
    /// of a push, and of two waits for a provider key.
    private static let settleMilliseconds = 480_000
    /// The time after a start of all processes in which they become ready.
    private static let startMilliseconds = 60_000

    let world: World
    private let parameters: StoryParameters
    private let plan: StoryPlan
    private let fleets: [Fleet]
    private var apns: VirtualAPNs! = nil
    private let stranger: Stranger
    /// The number of jobs that got their receipts.
    private var jobCount = 0

    init(_ parameters: StoryParameters, tellsStory: Bool) {
        SimulatedLog.startIfShown()
        self.parameters = parameters
        plan = StoryPlan(seed: parameters.seed, minutes: parameters.minutes)
        world = World(
            seed: parameters.seed, lanes: parameters.lanes ?? 2 + Int(parameters.seed / 3 % 3),
            directory: Self.directory(ofProcess: getpid()), tellsStory: tellsStory)
        let world = world
        let fleets = (0..<parameters.apps).map { Fleet(ofApp: $0, phones: parameters.phones, in: world) }
        self.fleets = fleets
        stranger = Stranger(for: fleets[0], in: world)
    }

    /// Plays the story to its end. Returns its facts in one line.
    func play() throws -> String {
        mkdir(world.directory, 0o700)
        world.noteFault(forMilliseconds: 5000)
        apns = try VirtualAPNs(in: world, for: fleets)
        for number in 0..<2 {
            try start("ingest-\(number)", .ingest)
            try start("fan-out-\(number)", .fanOut)
            try start("sender-\(number)", .sender)
            try start("scheduler-\(number)", .scheduler)
        }
        serveCluster()
        cleanCluster()
        try playAndSettle(plan.parts[0])
        if !parameters.endsBeforeIdleDays {
            try idle()
            try playAndSettle(plan.parts[1])
        }
        for process in world.processes { process.kill() }
        return
            "\(fleets.reduce(0) { $0 + $1.pushCount }) pushes, \(jobCount) jobs, \(fleets.reduce(0) { $0 + $1.checkCount }) checks, trace \(String(world.trace, radix: 16))"
    }

    /// Performs the steps of one part, and lets the fleet settle. Then everything that was accepted must have had its
    /// effect.
    private func playAndSettle(_ steps: [PlannedStep]) throws {
        let startedAt = world.wallMilliseconds
        for step in steps where !parameters.droppedSteps.contains(step.number) {
            world.schedule(inMilliseconds: step.milliseconds) { [unowned self] in try perform(step) }
        }
        try world.run(forMilliseconds: parameters.minutes * 60_000)
        for fleet in fleets { fleet.endAll() }
        try world.run(forMilliseconds: Self.settleMilliseconds)
        jobCount += try ReceiptLaw(in: world).check(since: startedAt - Self.clockErrorMax)
        for process in world.processes { try process.checkReadiness() }
    }

    /// Lets days pass without a step, with running or with stopped processes.
    private func idle() throws {
        // Any three seeds in a row have the three kinds of silence.
        switch parameters.seed % 3 {
        case 0: try run(idleHours: 24)
        case 1: try stop(idleHours: [24, 72, 192][world.random.number(below: 3)])
        default:
            // Kafka then has deleted the records of seven days, but not the offsets of groups without members.
            try run(idleHours: 2)
            try stop(idleHours: 7 * 24 - 1)
        }
        world.noteFault(forMilliseconds: 5000)
        try world.run(forMilliseconds: Self.startMilliseconds)
    }

    private func run(idleHours hours: Int) throws {
        world.tell("nothing happens for \(hours) hours")
        // The clocks are set right. After a silence, a process whose clock is far behind merges no reports for a minute,
        // until their stamps have proven the cluster's time.
        for process in world.processes { process.clockError = 0 }
        world.isIdle = true
        try world.run(forMilliseconds: hours * 3_600_000)
        world.isIdle = false
    }

    /// Stops all processes for hours. That costs no work.
    private func stop(idleHours hours: Int) throws {
        world.tell("all processes are stopped for \(hours) hours")
        let stopped = world.processes
        for process in stopped { process.kill() }
        world.isIdle = true
        try world.run(forMilliseconds: hours * 3_600_000)
        world.isIdle = false
        for process in stopped { try start(process.name, process.stage) }
    }

    private func start(_ name: String, _ stage: SimulatedStage) throws {
        let process = SimulatedProcess(name, running: stage, in: world)
        world.processes.append(process)
        try process.start(fleets.map(\.app), pushingTo: apns)
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
        let fleet = fleets[choices.number(below: fleets.count)]
        switch step.action {
        case .send: fleet.sendNext(by: &choices)
        case .sendLater: fleet.scheduleUpdate(by: &choices)
        case .rotateToken: fleet.rotateToken(by: &choices)
        case .dismiss: fleet.dismiss(by: &choices)
        case .erase: fleet.eraseUser(by: &choices)
        case .stranger:
            let milliseconds = 2000 + choices.number(below: 8000)
            world.tell("a stranger reports invented tokens to \(fleets[0].app.id) for \(milliseconds) ms")
            stranger.report(forMilliseconds: milliseconds)
        case .fault(let fault): make(fault, in: fleet, by: &choices)
        }
    }

    private func make(_ fault: PlannedFault, in fleet: Fleet, by choices: inout SeededGenerator) {
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
        case .killInPush:
            let (count, delay) = (choices.number(below: 30), choices.number(below: 40))
            let choice = choices.number(below: 2)
            apns.notify(afterRequests: count) { [unowned self] in
                world.schedule(inMilliseconds: delay) { [unowned self] in
                    let senders = world.processes.filter { $0.stage == .sender }
                    if senders.isEmpty { return }
                    restart(senders[choice % senders.count], afterMilliseconds: 200)
                }
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
            // A process that starts meanwhile can be fenced by its own first join.
            restart(process, afterMilliseconds: milliseconds / 4)
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
            let troubles = VirtualAPNs.Trouble.ofAllApps
            let trouble = troubles[choices.number(below: troubles.count)]
            let milliseconds = 1000 + choices.number(below: 20_000)
            world.tell("APNs has trouble for \(milliseconds) ms: \(trouble)")
            world.noteFault(forMilliseconds: milliseconds)
            apns.begin(trouble, forMilliseconds: milliseconds)
        case .appTrouble:
            let troubles = VirtualAPNs.Trouble.ofOneApp
            let trouble = troubles[choices.number(below: troubles.count)]
            let milliseconds = 5000 + choices.number(below: 20_000)
            world.tell("APNs has trouble with \(fleet.app.id) for \(milliseconds) ms: \(trouble)")
            fleet.noteTrouble(forMilliseconds: milliseconds)
            apns.begin(trouble, ofApp: fleet, forMilliseconds: milliseconds)
        case .missingKey: takeKeyAway(of: fleet)
        case .drainedProcess: drain(process, pauseMilliseconds: 500)
        case .upgrade: drainAll(world.processes.map(\.name)[...])
        }
    }

    /// Restarts the senders without the provider key of an app, and later once more with it.
    private func takeKeyAway(of fleet: Fleet) {
        world.tell("the provider key of \(fleet.app.id) is missing")
        fleet.noteTrouble(forMilliseconds: Self.missingKeyMilliseconds)
        apns.setKeyMissing(true, of: fleet.app)
        let restartSenders = { [unowned self] in
            for process in world.processes where process.stage == .sender {
                drain(process, pauseMilliseconds: 500)
            }
        }
        restartSenders()
        world.schedule(inMilliseconds: Self.missingKeyMilliseconds) { [unowned self] in
            world.tell("the provider key of \(fleet.app.id) is back")
            apns.setKeyMissing(false, of: fleet.app)
            restartSenders()
        }
    }

    /// Stops a process as a supervisor does, and starts it again.
    private func drain(_ process: SimulatedProcess, pauseMilliseconds pause: Int) {
        world.noteFault(forMilliseconds: pause)
        process.drain { [unowned self] in startLater(process, afterMilliseconds: pause) }
    }

    /// Drains one process after the other.
    private func drainAll(_ names: ArraySlice<String>) {
        guard let name = names.first else { return }
        if let process = world.processes.first(where: { $0.name == name }) {
            drain(process, pauseMilliseconds: 500)
        }
        world.schedule(inMilliseconds: Self.upgradePauseMilliseconds) { [unowned self] in
            drainAll(names.dropFirst())
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

    /// The time for which an app has no provider key.
    private static let missingKeyMilliseconds = 40_000
    /// The pause between the stops of two processes in an upgrade.
    private static let upgradePauseMilliseconds = 3000
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
