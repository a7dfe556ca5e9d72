import CSimulatedLibrary
import Catalog
import CatalogRecords
import FanOut
import Identifiers
import Ingest
import Kafka
import Lifecycle
import Scheduler
import Sender
import Simulation
import StageSupport
import Telemetry

/// The error with which a process has ended by itself, as its service reports it.
final class ProcessFailure: @unchecked Sendable {
    var error: (any Error)?
}

/// The stages that a simulated process runs.
enum SimulatedStage: String, CaseIterable {
    case ingest
    case fanOut = "fan-out"
    case sender
    case scheduler
}

/// One process of Flotilla, with the real loops of its stages. Its threads are the loops, and each has its own time:
/// when it waits for Kafka, the others go on. The loops of a sender wait for descriptors (`DescriptorThreads`). The
/// iterations of other stages are called one by one.
final class SimulatedProcess: ThreadOwner {
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
    private let startedAtWallMilliseconds: Int64
    /// The time of the first record that was stored after the start. Nil before it.
    private var firstStampAt: Instant?
    /// Whether the process has watched the stamps and its own clock for long enough that a step of its clock delays
    /// nothing.
    var hasWatchedClocks: Bool {
        guard let firstStampAt else { return false }
        return world.now.milliseconds(since: firstStampAt) > 2 * ClusterClock.settleMilliseconds
    }
    /// The process does nothing before this time, as after SIGSTOP.
    private(set) var stoppedUntil: Instant
    private var threads: [Thread] = []
    private(set) var transactionCount = 0
    /// The number of the process if its threads wait for descriptors, else 0.
    private let number: Int32
    private var waitsForDescriptors: Bool { number != 0 }
    /// The descriptors that the library signals, by the address of their queue.
    private var signals: [UInt: Int32] = [:]
    private var nextSignal = Instant.distantFuture
    /// The error with which the process has ended by itself.
    private let failure = ProcessFailure()
    /// The number of calls of the library until the process dies in one.
    private var callsUntilDeath: Int?
    private var onDeath: () -> Void = {}
    /// The senders that were killed. A killed process frees nothing, because its code never ends.
    nonisolated(unsafe) private static var killedSenders: [SenderService] = []
    private var sender: SenderService?
    /// Whether the process was told to stop.
    private var isDraining = false
    /// The loops that have not ended.
    private var remainingLoops = 0
    private var onExit: () -> Void = {}
    /// The time that a process has to end in order.
    private static let drainMilliseconds = 20_000

    init(_ name: String, running stage: SimulatedStage, in world: World) {
        (self.name, self.stage, self.world) = (name, stage, world)
        stoppedUntil = world.now
        startedAtWallMilliseconds = world.wallMilliseconds
        number = stage == .sender ? world.threads.addProcess() : 0
    }

    // MARK: Life

    /// Notes the stamp of a record that the process reads.
    func note(stamp: Int64) {
        if firstStampAt == nil, stamp > startedAtWallMilliseconds { firstStampAt = world.now }
    }

    /// Starts the stage, in the data directory of its predecessor if there was one.
    func start(_ apps: [App], pushingTo apns: VirtualAPNs) throws {
        world.tell("\(name) starts")
        if waitsForDescriptors { world.threads.setOwner(self, ofProcess: number) }
        try enter(at: world.now) {
            let path = "\(world.directory)/\(name)"
            let catalog = CatalogSnapshot(apps: Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0) }))
            // The identity of a new data directory.
            var bytes = SeededGenerator(seed: world.random.next())
            let environment = StageEnvironment(
                cluster: Cluster(settings: KafkaSettings(brokers: ["simulated:9092"])), layout: world.layout,
                slot: try ProcessSlot.acquire(
                    under: path, randomByte: { UInt8(truncatingIfNeeded: bytes.next()) }),
                sealingKeys: nil, catalog: { catalog })
            let failure = failure
            let context = ServiceContext(log: SimulatedLog.make(for: name), metrics: Metrics()) {
                failure.error = $0
            }
            var stageThreads: StageThreads?
            switch stage {
            case .ingest: stageThreads = IngestService(IngestSettings(), in: environment).threads
            case .fanOut: stageThreads = FanOutService(FanOutSettings(), in: environment).threads
            case .scheduler: stageThreads = SchedulerService(SchedulerSettings(), in: environment).threads
            case .sender:
                let service = SenderService(apns.senderSettings, in: environment)
                try service.startLoops(in: context)
                sender = service
            }
            for (loop, state) in try stageThreads?.makeLoops(in: context) ?? [] {
                threads.append(Thread(loop: loop, state: state, time: MachineClock.now, next: .distantFuture))
            }
            remainingLoops = threads.count
        }
        if let error = failure.error { throw Violation(.noProcessEnds, "\(name) does not start: \(error)") }
        for index in threads.indices { scheduleIteration(of: index, at: threads[index].time) }
        keepMemberships()
    }

    /// Ends the process at once, as SIGKILL does. Everything in memory is lost.
    func kill() {
        if isDead { return }
        world.tell("\(name) is killed")
        if stage == .sender { world.uncertainStarts.append(world.now) }
        end()
        onDeath()
        // The code of a thread that waits for descriptors does not continue. The code of an iteration continues to its
        // end, without any effect, because it owns files that the next process opens.
        if SimulatedProcess.current === self, waitsForDescriptors { simulated_thread_abandon() }
    }

    /// Frees what the process has. Its code has no effect any more.
    private func end() {
        isDead = true
        world.processes.removeAll { $0 === self }
        let isInCall = SimulatedProcess.current === self
        if waitsForDescriptors {
            world.threads.setOwner(nil, ofProcess: number)
            simulated_process_kill(number)
            if let sender { Self.killedSenders.append(sender) }
        } else if !isInCall {
            dropThreads()
        }
        clients = []
    }

    /// Ends the process in order, as SIGTERM does: it gives back its partitions, and nothing is lost or repeated.
    ///
    /// - Parameter onExit: called when the process has ended, unless it dies before.
    func drain(then onExit: @escaping () -> Void) {
        if isDraining { return }
        world.tell("\(name) is told to stop")
        (isDraining, self.onExit) = (true, onExit)
        for index in threads.indices {
            threads[index].state.requestStop()
            scheduleIteration(of: index, at: threads[index].time)
        }
        guard let sender else { return }
        // The loops run on the thread of the story.
        nonisolated(unsafe) let process = self
        remainingLoops = enter(at: world.now) {
            let deadline = MachineClock.now.advanced(byMilliseconds: Self.drainMilliseconds)
            return sender.stopLoops(by: deadline) { process.noteEndOfLoop() }
        }
    }

    /// Notes that a loop has ended in order. The process exits with its last one.
    private func noteEndOfLoop() {
        remainingLoops -= 1
        world.schedule(inMilliseconds: 1) { [weak self] in
            guard let self, !isDead, remainingLoops == 0 else { return }
            world.tell("\(name) has stopped")
            end()
            onExit()
        }
    }

    private func dropThreads() { enter(at: world.now) { threads = [] } }

    /// Lets the process die in a later call of the library.
    func kill(afterCalls count: Int, then onDeath: @escaping () -> Void) {
        (callsUntilDeath, self.onDeath) = (count, onDeath)
    }

    /// Called in each call of the library.
    func noteCall() {
        guard let count = callsUntilDeath, !isDead, SimulatedProcess.current === self else { return }
        callsUntilDeath = count - 1
        if count <= 0 { kill() }
    }

    /// Stops the process for a time, as SIGSTOP and SIGCONT do.
    func stop(milliseconds: Int) {
        world.tell("\(name) is stopped for \(milliseconds) ms")
        if stage == .sender { world.uncertainStarts.append(world.now) }
        stoppedUntil = world.now.advanced(byMilliseconds: milliseconds)
    }

    /// Checks that the process is ready. A partition that waits for an operator is a readiness problem.
    func checkReadiness() throws {
        let problems = threads.flatMap { $0.state.readinessProblems } + (sender?.readinessProblems ?? [])
        if let problem = problems.first { throw Violation(.readiness, "\(name) is not ready: \(problem)") }
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
                if isDraining {
                    // The loop sees the request, and only closes.
                    try loop.run()
                } else {
                    wakeup = try loop.runIteration(at: MachineClock.now)
                }
                if !isDead { threads[index].time = MachineClock.now }
            }
        } catch {
            if isDead { return dropThreads() }
            throw Violation(.noProcessEnds, "\(name) ends by itself: \(error)")
        }
        if isDead { return dropThreads() }
        guard let wakeup else { return noteEndOfLoop() }
        threads[index].isWakeable = !wakeup.sources.isEmpty
        // Even a loop with more to do takes some time. In idle days only the group and its session matter.
        let pause = world.isIdle ? Self.idleMilliseconds : 1
        let earliest = threads[index].time.advanced(byMilliseconds: pause)
        scheduleIteration(of: index, at: max(wakeup.time, earliest))
    }

    func resume(thread: Int32) throws {
        enter(at: world.now) { simulated_thread_resume(thread) }
        if let error = failure.error, !isDead {
            throw Violation(.noProcessEnds, "\(name) ends by itself: \(error)")
        }
    }

    /// Runs code of this process at a time. The code may let more time pass.
    private func enter<Result>(at time: Instant, _ body: () throws -> Result) rethrows -> Result {
        let previous = SimulatedProcess.current
        SimulatedProcess.current = self
        let previousNumber = simulated_process_enter(number)
        MachineClock.set(time, wallOffset: world.trueWallOffset + clockError)
        defer {
            SimulatedProcess.current = previous
            simulated_process_enter(previousNumber)
            world.threads.mustLook = true
            MachineClock.set(world.now, wallOffset: world.trueWallOffset)
        }
        return try body()
    }

    func wake() { wake(at: world.now.advanced(byMilliseconds: 1)) }

    /// Brings the next iterations forward, and signals the descriptors of the queues.
    func wake(at time: Instant) {
        if waitsForDescriptors { return signal(at: time) }
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
            if world.now >= stoppedUntil { for client in clients { client.serve() } }
            keepMemberships()
        }
    }

    /// Sets the descriptor that becomes readable when a queue may have something. Nil takes it away.
    func setSignal(_ descriptor: Int32?, ofQueue queue: UInt) { signals[queue] = descriptor }

    private func signal(at time: Instant) {
        let time = max(time, world.now)
        if nextSignal <= time { return }
        nextSignal = time
        world.schedule(at: time) { [weak self] in
            guard let self, !isDead, nextSignal == time else { return }
            nextSignal = .distantFuture
            for descriptor in signals.values.sorted() { simulated_descriptor_signal(descriptor) }
            world.threads.mustLook = true
        }
    }

    func noteTransaction(commits: Bool) {
        transactionCount += 1
        world.record(UInt64(transactionCount) << 1 | (commits ? 1 : 0))
    }
}
