internal import CLinux
internal import Glibc

/// One thread that waits for descriptors, timers and jobs, and calls their owners. All work of a connection
/// runs on the thread of its loop, without locks. Code on the loop must never block.
///
/// An iteration handles events, due timers, jobs from other threads, and then the hooks that were requested
/// in it.
///
/// Limits: at most `jobsMax` jobs wait. At the limit a caller on an ordinary thread waits. Callers on event
/// loops do not wait, because two full loops must not wait for each other. Tasks of actors that are pinned
/// here do not wait either, and each task has at most one job. At most `eventsPerIterationMax` events are handled
/// before jobs.
///
/// `@unchecked Sendable`: The inbox is locked. All other state is used on the loop's thread only, and
/// `preconditionOnLoop` checks it at the entry points.
@safe package final class EventLoop: @unchecked Sendable {
    package static let jobsMax = 65_536
    private static let eventsPerIterationMax = 256
    /// The largest result of one `recv`. There is one buffer per loop, and received bytes are valid for one
    /// call.
    package static let readBufferBytes = 256 * 1024

    package let name: String
    /// The steady time at the start of this iteration. The exclusivity check is off, because otherwise other
    /// modules check it at each read, several times for every push.
    package var now: Instant { iterationStart }
    @safe @exclusivity(unchecked) private var iterationStart = Instant.now()
    var timers = TimerHeap()
    let readBuffer: UnsafeMutableRawBufferPointer

    private let inbox: LoopInbox
    private let epoll: Int32
    private let events: UnsafeMutablePointer<epoll_event>
    private var registrations: [Registration] = []
    private var jobs: [LoopJob] = []
    private var jobsFromLoop: [LoopJob] = []
    private var hooks: [any IterationHook] = []
    private var handlersWithoutDescriptor: [ObjectIdentifier: any EventHandler] = [:]
    private var runningHooks: [any IterationHook] = []
    private var thread = pthread_t()
    private var isStarted = false
    private var isStopping = false

    /// The owner of a descriptor. A descriptor that was closed in this batch of events may have been reused.
    /// The generation then identifies its stale events.
    private struct Registration {
        var handler: (any EventHandler)?
        var generation: UInt32 = 0
    }

    private static let wakeupToken = UInt64.max

    package init(name: String, jobsMax: Int = EventLoop.jobsMax) throws(SystemError) {
        self.name = name
        inbox = try LoopInbox(limit: jobsMax)
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        unsafe events = .allocate(capacity: EventLoop.eventsPerIterationMax)
        unsafe readBuffer = .allocate(byteCount: EventLoop.readBufferBytes, alignment: 64)
        let wanted = Readiness([.readable, .edgeTriggered]).rawValue
        guard epoll >= 0,
            linux_epoll_set(epoll, EPOLL_CTL_ADD, inbox.wakeup, wanted, EventLoop.wakeupToken) == 0
        else { throw SystemError(action: "create an event loop", code: errno) }
    }

    deinit {
        if epoll >= 0 { Glibc.close(epoll) }
        unsafe events.deallocate()
        unsafe readBuffer.deallocate()
    }

    // MARK: Start and stop

    package func start() throws(SystemError) {
        precondition(!isStarted, "an event loop starts once")
        isStarted = true
        // The thread retains the loop until it ends.
        let reference = unsafe Unmanaged.passRetained(self)
        let code = unsafe pthread_create(&thread, nil, runEventLoop, reference.toOpaque())
        guard code == 0 else {
            unsafe reference.release()
            isStarted = false
            throw SystemError(action: "start the thread of event loop \(name)", code: code)
        }
    }

    /// Runs the queued jobs, calls `loopWillEnd` of the registered handlers, ends the thread and waits for it.
    /// It must not be called on a loop's thread.
    package func stop() {
        precondition(!isOnLoop, "an event loop cannot wait for itself")
        guard isStarted else { return }
        isStarted = false
        inbox.stop()
        pthread_join(thread, nil)
    }

    // MARK: Jobs

    /// Runs a job on the loop. Jobs of one thread keep their order. Returns false, without running the job,
    /// if the loop has stopped.
    @discardableResult
    package func execute(_ job: @escaping @Sendable () -> Void) -> Bool { submit(.closure(job)) }

    func submit(_ job: LoopJob) -> Bool {
        guard isOnLoop else {
            let mayWait = if case .closure = job { EventLoop.current == nil } else { false }
            return inbox.add(job, mayWait: mayWait)
        }
        jobsFromLoop.append(job)
        return true
    }

    /// Calls the hook once at the end of this iteration. A connection then sends all output of the iteration.
    /// A hook that is requested inside a hook runs at the end of the next iteration, which starts at once.
    package func callAtEndOfIteration(_ hook: any IterationHook) {
        preconditionOnLoop()
        hooks.append(hook)
    }

    // MARK: Descriptors

    package func register(_ descriptor: Int32, for interest: Readiness, handler: any EventHandler)
        throws(SystemError)
    {
        preconditionOnLoop()
        let index = Int(descriptor)
        while registrations.count <= index { registrations.append(Registration()) }
        registrations[index].generation &+= 1
        try watch(descriptor, for: interest)
        registrations[index].handler = handler
    }

    /// Deregisters a descriptor. It must be called before the descriptor is closed. The remaining events of
    /// this iteration are dropped.
    package func deregister(_ descriptor: Int32) {
        preconditionOnLoop()
        guard registrations.indices.contains(Int(descriptor)) else { return }
        guard registrations[Int(descriptor)].handler != nil else { return }
        registrations[Int(descriptor)].handler = nil
        registrations[Int(descriptor)].generation &+= 1
        _ = linux_epoll_set(epoll, EPOLL_CTL_DEL, descriptor, 0, 0)
    }

    /// Adds a handler without a descriptor, such as a connection whose host is being resolved. It is also
    /// called when the loop ends.
    package func addHandler(_ handler: any EventHandler) {
        handlersWithoutDescriptor[ObjectIdentifier(handler)] = handler
    }

    package func removeHandler(_ handler: any EventHandler) {
        handlersWithoutDescriptor[ObjectIdentifier(handler)] = nil
    }

    private func watch(_ descriptor: Int32, for interest: Readiness) throws(SystemError) {
        let generation = registrations[Int(descriptor)].generation
        let token = UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
        guard linux_epoll_set(epoll, EPOLL_CTL_ADD, descriptor, interest.rawValue, token) == 0 else {
            throw SystemError(action: "watch descriptor \(descriptor) on event loop \(name)", code: errno)
        }
    }

    // MARK: The thread

    fileprivate func run() {
        linux_block_signals()
        unsafe linux_name_thread(String(name.prefix(15)))
        EventLoop.setCurrent(self)
        while !isStopping { runIteration() }
        for registration in registrations { registration.handler?.loopWillEnd() }
        for handler in handlersWithoutDescriptor.values { handler.loopWillEnd() }
        repeat { runIteration() } while !(jobsFromLoop.isEmpty && hooks.isEmpty && inbox.closeIfEmpty())
        for index in registrations.indices { registrations[index].handler = nil }
        timers.removeAll()
        EventLoop.clearCurrent()
    }

    private func runIteration() {
        let count = unsafe epoll_wait(epoll, events, Int32(EventLoop.eventsPerIterationMax), waitMilliseconds)
        iterationStart = Instant.now()
        var isWoken = false
        for index in 0..<max(0, count) {
            let token = unsafe linux_epoll_token(events, index)
            if token == EventLoop.wakeupToken {
                isWoken = true
            } else {
                let readiness = unsafe linux_epoll_events(events, index)
                dispatch(token: token, readiness: Readiness(rawValue: readiness))
            }
        }
        TimerHeap.fire(timers.takeDue(at: now))
        if !jobsFromLoop.isEmpty {
            swap(&jobs, &jobsFromLoop)
            runJobs()
        }
        if isWoken {
            isStopping = inbox.take(into: &jobs)
            runJobs()
        }
        runHooks()
    }

    private func dispatch(token: UInt64, readiness: Readiness) {
        let registration = registrations[Int(UInt32(truncatingIfNeeded: token))]
        guard registration.generation == UInt32(token >> 32) else { return }
        registration.handler?.didBecomeReady(readiness)
    }

    private func runJobs() {
        let executor = unsafe asUnownedSerialExecutor()
        for job in jobs {
            switch job {
            case .closure(let closure): closure()
            case .task(let task): unsafe task.runSynchronously(on: executor)
            }
        }
        jobs.removeAll(keepingCapacity: jobs.count <= 4096)
    }

    private func runHooks() {
        guard !hooks.isEmpty else { return }
        swap(&hooks, &runningHooks)
        for hook in runningHooks { hook.iterationWillEnd() }
        runningHooks.removeAll(keepingCapacity: true)
    }

    /// The wait in milliseconds, rounded up so that no timer fires early.
    private var waitMilliseconds: Int32 {
        guard jobsFromLoop.isEmpty, hooks.isEmpty, !isStopping else { return 0 }
        guard let earliest = timers.earliest else { return -1 }
        let wait = earliest.nanoseconds - Instant.now().nanoseconds
        return wait <= 0 ? 0 : Int32(clamping: (wait - 1) / 1_000_000 + 1)
    }
}

/// Takes over the loop that `start` retained, and runs it to its end.
private func runEventLoop(_ reference: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let reference = unsafe reference else { return nil }
    unsafe Unmanaged<EventLoop>.fromOpaque(reference).takeRetainedValue().run()
    return nil
}
