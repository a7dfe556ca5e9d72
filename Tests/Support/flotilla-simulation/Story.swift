import Glibc
import Ingest
import Kafka
import Lifecycle
import Simulation
import StageSupport
import Telemetry

/// One seed: an installation, its people, and the faults that come over them.
final class Story {
    private static let groups = ["match", "final", "order"]
    /// The longest time that the fleet has after the last fault.
    private static let settleMilliseconds = 120_000

    let world: World
    private let fleet: Fleet
    private let minutes: Int
    /// Whether the clocks of Kafka's nodes jump by hours.
    private let brokersClocksJump: Bool

    init(seed: UInt64, minutes: Int, brokersClocksJump: Bool, tellsStory: Bool) {
        (self.minutes, self.brokersClocksJump) = (minutes, brokersClocksJump)
        let directory = "/dev/shm/flotilla-simulation-\(getpid())-\(seed)"
        world = World(
            seed: seed, lanes: 2 + Int(seed % 3), directory: directory, tellsStory: tellsStory)
        fleet = Fleet(phones: 12, in: world)
    }

    /// Plays the story to its end. Returns its facts in one line.
    func play() throws -> String {
        mkdir(world.directory, 0o700)
        defer { remove(world.directory) }
        world.noteFault(forMilliseconds: 5000)
        for number in 0..<2 {
            try start("ingest-\(number)", .ingest)
            try start("fan-out-\(number)", .fanOut)
        }
        serveCluster()
        cleanCluster()
        for index in fleet.phones.indices {
            world.schedule(inMilliseconds: world.random.number(below: 20_000)) { [unowned self] in
                fleet.reportStartToken(ofPhone: index)
            }
        }
        try playAndSettle()
        try idle()
        try playAndSettle()
        for process in world.processes { process.kill() }
        return
            "\(fleet.pushCount) pushes, \(fleet.checkCount) checks, trace \(String(world.trace, radix: 16))"
    }

    /// People and faults for some minutes. Then everything that was accepted must have its effect.
    private func playAndSettle() throws {
        isOver = false
        beginPlan()
        try world.run(forMilliseconds: minutes * 60_000)
        isOver = true
        fleet.endAll(Self.groups)
        try world.run(forMilliseconds: Self.settleMilliseconds)
    }

    /// Days in which nothing happens, for running or for stopped processes.
    private func idle() throws {
        let areStopped = world.random.number(below: 3) != 0
        // Longer than any retention, if no process has to be simulated meanwhile.
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

    private var isOver = true

    private func start(_ name: String, _ stage: SimulatedStage) throws {
        let process = SimulatedProcess(name, running: stage, in: world)
        world.processes.append(process)
        try process.start(Fleet.app)
    }

    private func remove(_ directory: String) {
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

    // MARK: The plan

    private func beginPlan() {
        every(800...6000) { [unowned self] in
            fleet.playOn(Self.groups[world.random.number(below: Self.groups.count)])
        }
        every(5000...30_000) { [unowned self] in fleet.rotateToken() }
        every(10_000...60_000) { [unowned self] in fleet.dismiss() }
        every(20_000...60_000) { [unowned self] in try makeFault() }
    }

    /// Repeats something in random intervals, until the story is over.
    private func every(_ interval: ClosedRange<Int>, _ body: @escaping () throws -> Void) {
        let pause = Int.random(in: interval, using: &world.random)
        world.schedule(inMilliseconds: pause) { [unowned self] in
            if isOver { return }
            try body()
            every(interval, body)
        }
    }

    /// The faults, in the order of their numbers.
    private enum Fault: Int, CaseIterable {
        case killedProcess
        case stoppedProcess
        case lostDataDirectory
        case deadNode
        case lostAnswers
        case wrongClockOfNode
        case wrongClockOfProcess
    }

    private func makeFault() throws {
        guard !world.processes.isEmpty,
            let fault = Fault(rawValue: world.random.number(below: Fault.allCases.count))
        else { return }
        let process = world.processes[world.random.number(below: world.processes.count)]
        let node = world.random.number(below: VirtualCluster.nodeCount)
        switch fault {
        case .killedProcess: restart(process, afterMilliseconds: 200 + world.random.number(below: 3000))
        case .lostDataDirectory:
            // The next process has another identity, so the group waits for the old member.
            world.noteFault(forMilliseconds: ConsumerOptions.sessionMillisecondsDefault)
            restart(process, afterMilliseconds: 1000)
            world.tell("the data directory of \(process.name) is lost")
            remove("\(world.directory)/\(process.name)")
        case .stoppedProcess:
            let pause = 1000 + world.random.number(below: 30_000)
            world.noteFault(forMilliseconds: pause)
            process.stop(milliseconds: pause)
        case .deadNode:
            let milliseconds = 2000 + world.random.number(below: 30_000)
            world.tell("Kafka's node \(node) dies for \(milliseconds) ms")
            world.noteFault(forMilliseconds: milliseconds)
            world.cluster.takeAway(node: node, milliseconds: milliseconds)
        case .lostAnswers:
            let milliseconds = 1000 + world.random.number(below: 10_000)
            world.tell("answers of Kafka get lost for \(milliseconds) ms")
            world.noteFault(forMilliseconds: milliseconds)
            world.cluster.answersAreLostUntil = world.now.advanced(byMilliseconds: milliseconds)
        case .wrongClockOfNode:
            let error = clockError(of: brokersClocksJump ? Self.largeClockErrors : Self.smallClockErrors)
            world.tell("the clock of Kafka's node \(node) is wrong by \(error) ms from now on")
            world.cluster.clockErrors[node] = error
            world.noteFault(forMilliseconds: 1000)
        case .wrongClockOfProcess:
            let error = clockError(of: Self.largeClockErrors)
            world.tell("the clock of \(process.name) is wrong by \(error) ms from now on")
            process.clockError = error * 1_000_000
            guard !process.hasWatchedClocks else { return world.noteFault(forMilliseconds: 1000) }
            // The process has not seen stamps and its clock agree for long enough, so reports wait until newer stamps
            // prove the time, or until an operator sets the clock.
            world.noteFault(
                forMilliseconds: Self.operatorMilliseconds + ClockWait.recheckMilliseconds)
            world.schedule(inMilliseconds: Self.operatorMilliseconds) { process.clockError = 0 }
        }
    }

    /// Kills a process, and starts it again as a supervisor does.
    private func restart(_ process: SimulatedProcess, afterMilliseconds pause: Int) {
        world.noteFault(forMilliseconds: pause)
        process.kill()
        world.schedule(inMilliseconds: pause) { [unowned self] in
            // Its clock is right again, as after the idle days.
            try start(process.name, process.stage)
        }
    }

    /// The time after which an operator sets the clock of a machine whose reports wait.
    private static let operatorMilliseconds = 60_000
    /// The errors of wrong clocks, in milliseconds. A clock is often set right. A node's clock that goes back by more
    /// makes the reports of new tokens look older than those of the tokens before, so the phones miss updates.
    private static let smallClockErrors: [Int64] = [0, 100, 300, -200]
    private static let largeClockErrors: [Int64] = [0, 0, 0, 300, -2000, 45_000, -3_600_000, 50_000_000]

    private func clockError(of errors: [Int64]) -> Int64 { errors[world.random.number(below: errors.count)] }
}
