import Catalog
import CatalogRecords
import FanOut
import Identifiers
import Ingest
import Kafka
import Lifecycle
import Simulation
import StageSupport
import Telemetry

/// The stages that a simulated process runs.
enum SimulatedStage: String, CaseIterable {
    case ingest
    case fanOut = "fan-out"
}

/// One process of Flotilla, with the real loops of its stages. Its threads are the loops, and each has its own time:
/// when it waits for Kafka, the others go on.
final class SimulatedProcess {
    /// The process whose code runs.
    nonisolated(unsafe) static var current: SimulatedProcess?

    private struct Thread {
        let loop: any IteratedLoop
        let state: LoopState
        /// The time at which the newest iteration ended.
        var time: Instant
        /// The scheduled time of the next iteration, and the number of its event. Older events are forgotten.
        var next: Instant
        var eventNumber = 0
        /// Whether records bring the next iteration forward.
        var isWakeable = true
    }

    let name: String
    let stage: SimulatedStage
    unowned let world: World
    var clients: [SimulatedClient] = []
    private(set) var isDead = false
    /// The wall clock of the machine less the true time, in nanoseconds.
    var clockError: Int64 = 0
    private let startedAt: Instant
    /// Whether the process has watched stamps and its own clock for longer than the usual time.
    var hasWatchedClocks: Bool {
        world.now.milliseconds(since: startedAt) > 2 * ClusterClock.settleMilliseconds
    }
    /// The process does nothing before this time, as after SIGSTOP.
    private var stoppedUntil: Instant
    private var threads: [Thread] = []
    private(set) var transactionCount = 0
    /// What readiness shows, one line for each problem.
    var readinessProblems: [String] { threads.flatMap { $0.state.readinessProblems } }

    init(_ name: String, running stage: SimulatedStage, in world: World) {
        (self.name, self.stage, self.world) = (name, stage, world)
        (startedAt, stoppedUntil) = (world.now, world.now)
    }

    // MARK: Life

    /// Starts the stage, in the data directory of its predecessor if there was one.
    func start(_ app: App) throws {
        world.tell("\(name) starts")
        try enter(at: world.now) {
            let path = "\(world.directory)/\(name)"
            // The identity of a new data directory.
            var bytes = SeededGenerator(seed: world.random.next())
            let environment = StageEnvironment(
                cluster: Cluster(settings: KafkaSettings(brokers: ["simulated:9092"])), layout: world.layout,
                slot: try ProcessSlot.acquire(
                    under: path, randomByte: { UInt8(truncatingIfNeeded: bytes.next()) }),
                sealingKeys: nil, catalog: { CatalogSnapshot(apps: [app.id: app]) })
            let stageThreads =
                switch stage {
                case .ingest: IngestService(IngestSettings(), in: environment).threads
                case .fanOut: FanOutService(FanOutSettings(), in: environment).threads
                }
            let context = ServiceContext(log: SimulatedLog.make(for: name), metrics: Metrics()) { _ in }
            for (loop, state) in try stageThreads.makeLoops(in: context) {
                threads.append(Thread(loop: loop, state: state, time: MachineClock.now, next: .distantFuture))
            }
        }
        for index in threads.indices { scheduleIteration(of: index, at: threads[index].time) }
        keepMemberships()
    }

    /// Ends the process at once, as SIGKILL does. Everything in memory is lost.
    func kill() {
        world.tell("\(name) is killed")
        isDead = true
        enter(at: world.now) { threads = [] }
        clients = []
        world.processes.removeAll { $0 === self }
    }

    /// Stops the process for a time, as SIGSTOP and SIGCONT do.
    func stop(milliseconds: Int) {
        world.tell("\(name) is stopped for \(milliseconds) ms")
        stoppedUntil = world.now.advanced(byMilliseconds: milliseconds)
    }

    // MARK: Iterations

    private func scheduleIteration(of index: Int, at time: Instant) {
        threads[index].next = time
        threads[index].eventNumber += 1
        let number = threads[index].eventNumber
        world.schedule(at: time) { [weak self] in
            guard let self, !isDead, threads[index].eventNumber == number else { return }
            if world.now < stoppedUntil { return scheduleIteration(of: index, at: stoppedUntil) }
            try iterate(index)
        }
    }

    private func iterate(_ index: Int) throws {
        let loop = threads[index].loop
        var wakeup: Wakeup?
        do {
            try enter(at: world.now) {
                wakeup = try loop.runIteration(at: MachineClock.now)
                if !isDead { threads[index].time = MachineClock.now }
            }
        } catch {
            if isDead { return }
            throw Violation(description: "\(name) ends by itself: \(error)")
        }
        guard !isDead, let wakeup else { return }
        threads[index].isWakeable = !wakeup.sources.isEmpty
        // Even a loop with more to do takes some time. In idle days only the group and its session matter.
        let pause = world.isIdle ? Self.idleMilliseconds : 1
        let earliest = threads[index].time.advanced(byMilliseconds: pause)
        scheduleIteration(of: index, at: max(wakeup.time, earliest))
    }

    /// Runs code of this process at a time. The code may let more time pass.
    private func enter(at time: Instant, _ body: () throws -> Void) rethrows {
        let previous = SimulatedProcess.current
        SimulatedProcess.current = self
        MachineClock.set(time, wallOffset: world.trueWallOffset + clockError)
        defer {
            SimulatedProcess.current = previous
            MachineClock.set(world.now, wallOffset: world.trueWallOffset)
        }
        try body()
    }

    func wake() { wake(at: world.now.advanced(byMilliseconds: 1)) }

    /// Brings the next iterations forward.
    func wake(at time: Instant) {
        for index in threads.indices where threads[index].isWakeable && threads[index].next > time {
            let earliest = max(time, threads[index].time)
            if earliest < threads[index].next { scheduleIteration(of: index, at: earliest) }
        }
    }

    // MARK: The library's threads

    private static let membershipMilliseconds = 200
    /// The pause between two iterations, and between two looks at the memberships, in idle days. It is shorter than a
    /// session.
    private static let idleMilliseconds = 6000

    /// Keeps the memberships of the process, as the threads of the library do.
    private func keepMemberships() {
        let pause = world.isIdle ? Self.idleMilliseconds : Self.membershipMilliseconds
        world.schedule(inMilliseconds: pause) { [weak self] in
            guard let self, !isDead else { return }
            if world.now >= stoppedUntil { for client in clients { client.membership?.serve() } }
            keepMemberships()
        }
    }

    func noteTransaction(commits: Bool) {
        transactionCount += 1
        world.record(UInt64(transactionCount) << 1 | (commits ? 1 : 0))
    }
}
