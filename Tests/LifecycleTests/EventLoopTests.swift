import Glibc
import Synchronization
import Testing

@testable import Lifecycle

/// Jobs, timers, events of descriptors, and hooks of an event loop. `execute` queues a job for the loop's thread, and
/// `perform` waits for its result.
@Suite struct EventLoopTests {
    @Test func `jobs run on the loop's thread in the order of the calls`() throws {
        let running = try RunningLoop()
        let ranJobs = Mutex<[Int]>([])
        let loop = running.loop
        for number in 0..<1_000 {
            loop.execute { ranJobs.withLock { $0.append(loop.isOnLoop ? number : -1) } }
        }
        #expect(loop.perform { ranJobs.withLock { $0 } } == Array(0..<1_000), "-1 ran on another thread")
        #expect(!loop.isOnLoop)
    }

    @Test func `a thread in the background has a higher nice value, and so have threads that it starts`()
        throws
    {
        func niceValue(_ priority: ThreadPriority) throws -> Int32 {
            let value = Mutex<Int32>(-1)
            let thread = try WorkerThread(name: "outer", priority: priority) {
                guard let inner = try? EventLoop(name: "inner"), (try? inner.start()) != nil else { return }
                let found = inner.perform { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
                inner.stop()
                value.withLock { $0 = found ?? -1 }
            }
            thread.join()
            return value.withLock { $0 }
        }
        #expect(try niceValue(.background) == niceValue(.normal) + 10)
    }

    @Test func `stop runs the queued jobs and then rejects new ones`() throws {
        let loop = try EventLoop(name: "stop")
        try loop.start()
        let ranJobs = SharedCount()
        for _ in 0..<500 { loop.execute { ranJobs.increment() } }
        loop.execute { loop.execute { ranJobs.increment() } }
        loop.stop()
        loop.stop()
        // The 500 jobs, and the one that a job has queued.
        #expect(ranJobs.value == 501)
        #expect(!loop.execute { ranJobs.increment() })
        #expect(loop.perform { 1 } == nil)
    }

    @Test func `a full queue makes its callers wait and loses no job`() throws {
        let running = try RunningLoop(jobsMax: 4)
        let ranJobs = SharedCount()
        let threads = (0..<4).map { _ in
            PlainThread { for _ in 0..<500 { running.loop.execute { ranJobs.increment() } } }
        }
        for thread in threads { thread.join() }
        #expect(running.loop.perform { ranJobs.value } == 2_000)
    }

    @Test func `two loops with full queues do not wait for each other`() throws {
        let runningLoops = (first: try RunningLoop(jobsMax: 1), second: try RunningLoop(jobsMax: 1))
        let ranJobs = SharedCount()
        let (first, second) = (runningLoops.first.loop, runningLoops.second.loop)
        first.execute { for _ in 0..<200 { second.execute { ranJobs.increment() } } }
        second.execute { for _ in 0..<200 { first.execute { ranJobs.increment() } } }
        #expect(eventually { ranJobs.value == 400 })
    }

    @Test func `timers fire in time order, and a cancelled one does not fire`() throws {
        let running = try RunningLoop()
        let loop = running.loop
        let fired = Mutex<[Int]>([])
        let recordFiring: @Sendable (Int) -> Void = { number in fired.withLock { $0.append(number) } }
        _ = loop.perform {
            let start = Instant.now()
            var timers: [LoopTimer] = []
            for number in [5, 1, 9, 3, 7, 2, 8, 4, 6] {
                let timer = LoopTimer(on: loop) { recordFiring(number) }
                timer.schedule(at: start.advanced(byMilliseconds: number))
                timers.append(timer)
            }
            // The timers with the numbers 9 and 7. The second one becomes the last.
            timers[2].cancel()
            timers[4].schedule(at: start.advanced(byMilliseconds: 12))
        }
        #expect(eventually { fired.withLock { $0.count } == 8 })
        #expect(fired.withLock { $0 } == [1, 2, 3, 4, 5, 6, 8, 7])
    }

    @Test func `a timer that schedules itself for now does not delay jobs`() throws {
        let running = try RunningLoop()
        let loop = running.loop
        let timer = SelfSchedulingTimer(on: loop)
        _ = loop.perform { timer.start() }
        #expect(loop.perform { true } == true)
        _ = loop.perform { timer.stop() }
    }

    @Test func `a timer does not fire early`() throws {
        let running = try RunningLoop()
        let loop = running.loop
        let nanosecondsLate = Mutex<Int64?>(nil)
        for _ in 0..<5 {
            nanosecondsLate.withLock { $0 = nil }
            _ = loop.perform {
                let due = Instant(nanoseconds: Instant.now().nanoseconds + 1_300_000)
                LoopTimer(on: loop) {
                    nanosecondsLate.withLock { $0 = Instant.now().nanoseconds - due.nanoseconds }
                }
                .schedule(at: due)
            }
            #expect(eventually { nanosecondsLate.withLock { $0 } != nil })
            #expect(nanosecondsLate.withLock { $0! } >= 0)
        }
    }

    @Test func `an event of a closed descriptor does not reach the next owner of its number`() throws {
        let running = try RunningLoop()
        let loop = running.loop
        _ = loop.perform { _ = StaleEventHandler(on: loop) }
        #expect(loop.perform { StaleEventHandler.staleEventCount.load(ordering: .relaxed) } == 0)
        #expect(eventually { StaleEventHandler.replacementCount.load(ordering: .relaxed) == 1 })
        #expect(loop.perform { StaleEventHandler.staleEventCount.load(ordering: .relaxed) } == 0)
    }

    @Test func `a hook that a hook requests runs in the next iteration`() throws {
        let running = try RunningLoop()
        let loop = running.loop
        let hook = SelfRequestingHook(on: loop, runsMax: 3)
        _ = loop.perform { loop.callAtEndOfIteration(hook) }
        #expect(eventually { hook.runCount.load(ordering: .relaxed) == 3 })
    }

    @Test func `an actor pinned to the loop runs on its thread`() async throws {
        let loop = try EventLoop(name: "actor")
        try loop.start()
        let pinned = PinnedActor(to: loop)
        var total = 0
        for number in 0..<100 { total += await pinned.echo(number) }
        #expect(total == (0..<100).reduce(0, +))
        let callCount = await withCheckedContinuation { continuation in
            loop.execute { continuation.resume(returning: pinned.assumeIsolated { $0.callCount }) }
        }
        #expect(callCount == 100)
        loop.stop()
    }

    @Test func `the loop's thread blocks signals, so that other threads take them`() throws {
        let running = try RunningLoop()
        let isBlocked = running.loop.perform {
            var blockedSignals = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &blockedSignals)
            return sigismember(&blockedSignals, SIGTERM) == 1
        }
        #expect(isBlocked == true)
    }

    private final class SelfSchedulingTimer: @unchecked Sendable {
        private let loop: EventLoop
        private var timer: LoopTimer?
        init(on loop: EventLoop) { self.loop = loop }
        func start() {
            timer = LoopTimer(on: loop) { [unowned self] in timer?.schedule(at: loop.now) }
            timer?.schedule(at: loop.now)
        }
        func stop() {
            timer?.cancel()
            timer = nil
        }
    }

    private final class SelfRequestingHook: IterationHook, @unchecked Sendable {
        let loop: EventLoop
        let runCount = Atomic<Int>(0)
        private let runsMax: Int
        init(on loop: EventLoop, runsMax: Int) {
            self.loop = loop
            self.runsMax = runsMax
        }
        func iterationWillEnd() {
            if runCount.add(1, ordering: .relaxed).newValue < runsMax { loop.callAtEndOfIteration(self) }
        }
    }

    private actor PinnedActor {
        private let loop: EventLoop
        private(set) var callCount = 0
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        init(to loop: EventLoop) { self.loop = loop }
        func echo(_ number: Int) -> Int {
            precondition(loop.isOnLoop)
            callCount += 1
            return number
        }
    }
}

/// Two descriptors are ready in one batch. The owner of the first closes the second and opens a new one. The
/// new one gets the same number and has no data, so its owner must get no event. If another test takes the
/// number first, no newcomer is registered.
private final class StaleEventHandler: EventHandler {
    static let staleEventCount = Atomic<Int>(0)
    static let replacementCount = Atomic<Int>(0)
    private let loop: EventLoop
    /// The read end and the write end of one pipe, then those of another.
    private var pipes: [Int32] = []

    private final class Newcomer: EventHandler {
        func loopWillEnd() {}
        func didBecomeReady(_ readiness: Readiness) {
            StaleEventHandler.staleEventCount.add(1, ordering: .relaxed)
        }
    }

    init(on loop: EventLoop) {
        self.loop = loop
        var first: [Int32] = [0, 0]
        var second: [Int32] = [0, 0]
        pipe(&first)
        pipe(&second)
        pipes = first + second
        write(first[1], "x", 1)
        write(second[1], "x", 1)
        try? loop.register(first[0], for: .readable, handler: self)
        try? loop.register(second[0], for: .readable, handler: self)
    }

    func loopWillEnd() {}

    func didBecomeReady(_ readiness: Readiness) {
        // The first handler that is called replaces the other. The event of the other is then stale.
        let readEnds = [pipes[0], pipes[2]]
        for readEnd in readEnds {
            loop.deregister(readEnd)
            close(readEnd)
        }
        var newPipe: [Int32] = [0, 0]
        pipe(&newPipe)
        for descriptor in newPipe where readEnds.contains(descriptor) {
            try? loop.register(descriptor, for: .readable, handler: Newcomer())
        }
        StaleEventHandler.replacementCount.add(1, ordering: .relaxed)
        let openDescriptors = [pipes[1], pipes[3]] + newPipe
        let loop = loop
        loop.execute {
            for descriptor in openDescriptors {
                loop.deregister(descriptor)
                close(descriptor)
            }
        }
    }
}

/// A plain thread, joined explicitly.
private final class PlainThread {
    private var handle = pthread_t()
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
        pthread_create(
            &handle, nil,
            {
                Unmanaged<PlainThread>.fromOpaque($0!).takeRetainedValue().body()
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
    }

    func join() { pthread_join(handle, nil) }
}
