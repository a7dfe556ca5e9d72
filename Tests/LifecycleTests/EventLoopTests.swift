import Glibc
import Synchronization
import Testing

@testable import Lifecycle

@Suite struct EventLoopTests {
    @Test func `jobs run on the loop's thread in the order of the calls`() throws {
        let running = try RunningLoop()
        let seen = Mutex<[Int]>([])
        let loop = running.loop
        for number in 0..<1_000 {
            loop.execute { seen.withLock { $0.append(loop.isOnLoop ? number : -1) } }
        }
        #expect(loop.perform { seen.withLock { $0 } } == Array(0..<1_000))
        #expect(!loop.isOnLoop)
    }

    @Test func `stop runs the queued jobs and then rejects new ones`() throws {
        let loop = try EventLoop(name: "stop")
        try loop.start()
        let count = Atomic<Int>(0)
        let shared = Shared(count: 0)
        for _ in 0..<500 { loop.execute { shared.add() } }
        loop.execute { loop.execute { shared.add() } }
        loop.stop()
        loop.stop()
        #expect(shared.value == 501)
        #expect(!loop.execute { shared.add() })
        #expect(loop.perform { 1 } == nil)
        #expect(count.load(ordering: .relaxed) == 0)
    }

    @Test func `a full queue makes its callers wait and loses no job`() throws {
        let running = try RunningLoop(jobsMax: 4)
        let shared = Shared(count: 0)
        let threads = (0..<4).map { _ in
            Thread { for _ in 0..<500 { running.loop.execute { shared.add() } } }
        }
        for thread in threads { thread.join() }
        #expect(running.loop.perform { shared.value } == 2_000)
    }

    @Test func `two loops with full queues do not wait for each other`() throws {
        let a = try RunningLoop(jobsMax: 1)
        let b = try RunningLoop(jobsMax: 1)
        let shared = Shared(count: 0)
        let (first, second) = (a.loop, b.loop)
        first.execute { for _ in 0..<200 { second.execute { shared.add() } } }
        second.execute { for _ in 0..<200 { first.execute { shared.add() } } }
        #expect(eventually { shared.value == 400 })
    }

    @Test func `timers fire in time order, and a cancelled one does not fire`() throws {
        let running = try RunningLoop()
        let loop = running.loop
        let fired = Mutex<[Int]>([])
        let log: @Sendable (Int) -> Void = { number in fired.withLock { $0.append(number) } }
        _ = loop.perform {
            let start = Instant.now()
            var timers: [LoopTimer] = []
            for number in [5, 1, 9, 3, 7, 2, 8, 4, 6] {
                let timer = LoopTimer(on: loop) { log(number) }
                timer.schedule(at: start.advanced(byMilliseconds: number))
                timers.append(timer)
            }
            timers[2].cancel()  // 9
            timers[4].schedule(at: start.advanced(byMilliseconds: 12))  // 7 moves to the end
        }
        #expect(eventually { fired.withLock { $0.count } == 8 })
        #expect(fired.withLock { $0 } == [1, 2, 3, 4, 5, 6, 8, 7])
    }

    @Test func `a timer that schedules itself for now does not delay jobs`() throws {
        let running = try RunningLoop()
        let loop = running.loop
        let again = Again(loop)
        _ = loop.perform { again.start() }
        #expect(loop.perform { true } == true)
        _ = loop.perform { again.stop() }
    }

    @Test func `a timer does not fire early`() throws {
        let running = try RunningLoop()
        let loop = running.loop
        let early = Mutex<Int64?>(nil)
        for _ in 0..<5 {
            early.withLock { $0 = nil }
            _ = loop.perform {
                let due = Instant(nanoseconds: Instant.now().nanoseconds + 1_300_000)
                LoopTimer(on: loop) { early.withLock { $0 = Instant.now().nanoseconds - due.nanoseconds } }
                    .schedule(at: due)
            }
            #expect(eventually { early.withLock { $0 } != nil })
            #expect(early.withLock { $0! } >= 0)
        }
    }

    @Test func `an event of a closed descriptor does not reach the next owner of its number`() throws {
        let running = try RunningLoop()
        let loop = running.loop
        let result = loop.perform { () -> [Int] in
            let scene = StaleScene(loop)
            return scene.numbers
        }
        let numbers = try #require(result)
        #expect(numbers[0] == numbers[1], "the number must be reused for this test")
        #expect(loop.perform { StaleScene.wrong.load(ordering: .relaxed) } == 0)
        #expect(eventually { StaleScene.closed.load(ordering: .relaxed) == 1 })
        #expect(loop.perform { StaleScene.wrong.load(ordering: .relaxed) } == 0)
    }

    @Test func `a hook that a hook requests runs in the next iteration`() throws {
        let running = try RunningLoop()
        let loop = running.loop
        let hook = TwiceHook(loop)
        _ = loop.perform { loop.callAtEndOfIteration(hook) }
        #expect(eventually { hook.count.load(ordering: .relaxed) == 3 })
    }

    @Test func `an actor pinned to the loop runs on its thread`() async throws {
        let loop = try EventLoop(name: "actor")
        try loop.start()
        let pinned = Pinned(loop)
        var total = 0
        for number in 0..<100 { total += await pinned.add(number) }
        #expect(total == 4_950)
        let entered = await withCheckedContinuation { done in
            loop.execute { done.resume(returning: pinned.assumeIsolated { $0.calls }) }
        }
        #expect(entered == 100)
        loop.stop()
    }

    @Test func `the loop's thread blocks signals, so that other threads take them`() throws {
        let running = try RunningLoop()
        let isBlocked = running.loop.perform {
            var set = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &set)
            return sigismember(&set, SIGTERM) == 1
        }
        #expect(isBlocked == true)
    }

    private final class Shared: Sendable {
        private let count: Mutex<Int>
        init(count: Int) { self.count = Mutex(count) }
        func add() { count.withLock { $0 += 1 } }
        var value: Int { count.withLock { $0 } }
    }

    private final class Again: @unchecked Sendable {
        private let loop: EventLoop
        private var timer: LoopTimer?
        init(_ loop: EventLoop) { self.loop = loop }
        func start() {
            timer = LoopTimer(on: loop) { [unowned self] in timer?.schedule(at: loop.now) }
            timer?.schedule(at: loop.now)
        }
        func stop() {
            timer?.cancel()
            timer = nil
        }
    }

    private final class TwiceHook: IterationHook, @unchecked Sendable {
        let loop: EventLoop
        let count = Atomic<Int>(0)
        init(_ loop: EventLoop) { self.loop = loop }
        func iterationWillEnd() {
            if count.add(1, ordering: .relaxed).newValue < 3 { loop.callAtEndOfIteration(self) }
        }
    }

    private actor Pinned {
        private let loop: EventLoop
        private(set) var calls = 0
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        init(_ loop: EventLoop) { self.loop = loop }
        func add(_ number: Int) -> Int {
            precondition(loop.isOnLoop)
            calls += 1
            return number
        }
    }
}

/// Two descriptors are ready in one batch. The owner of the first closes the second and opens a new one. The
/// new one gets the same number and has no data, so its owner must get no event.
private final class StaleScene: EventHandler {
    static let wrong = Atomic<Int>(0)
    static let closed = Atomic<Int>(0)
    private let loop: EventLoop
    private var pipes: [Int32] = []
    private(set) var numbers: [Int] = []

    private final class Newcomer: EventHandler {
        func loopWillEnd() {}
        func didBecomeReady(_ readiness: Readiness) { StaleScene.wrong.add(1, ordering: .relaxed) }
    }

    init(_ loop: EventLoop) {
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
        numbers = [Int(second[0]), Int(second[0])]
    }

    func loopWillEnd() {}

    func didBecomeReady(_ readiness: Readiness) {
        // The first handler that is called replaces the other. The event of the other is then stale.
        for read in [pipes[0], pipes[2]] {
            loop.deregister(read)
            close(read)
        }
        var fresh: [Int32] = [0, 0]
        pipe(&fresh)
        for read in fresh where read == pipes[0] || read == pipes[2] {
            try? loop.register(read, for: .readable, handler: Newcomer())
        }
        StaleScene.closed.add(1, ordering: .relaxed)
        let all = [pipes[1], pipes[3]] + fresh
        let loop = loop
        loop.execute {
            for descriptor in all {
                loop.deregister(descriptor)
                close(descriptor)
            }
        }
    }
}

/// A plain thread, joined explicitly.
private final class Thread {
    private var handle = pthread_t()
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
        pthread_create(
            &handle, nil,
            {
                Unmanaged<Thread>.fromOpaque($0!).takeRetainedValue().body()
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
    }

    func join() { pthread_join(handle, nil) }
}
