internal import CLinux
internal import Glibc

/// One thread that waits for descriptors, timers and jobs, and calls their owners. All work of a connection
/// runs on the thread of its loop, without locks. Code on the loop must never block.
///
/// The thread repeats one iteration: it waits, then handles the events of descriptors, the due timers, the
/// jobs, and at last the hooks that were requested in this iteration (`callAtEndOfIteration`).
///
/// Limits: an iteration handles at most `eventsPerIterationMax` events. At most `jobsMax` jobs wait. At that
/// limit a caller on an ordinary thread waits. A caller on an event loop adds its job beyond the limit,
/// because two full loops must not wait for each other. So does an actor's task, which has at most one job.
///
/// `@unchecked Sendable`: The inbox is locked. All other state is used on the loop's thread only, and
/// `preconditionOnLoop` checks it at the entry points.
@safe package final class EventLoop: @unchecked Sendable {
    package static let jobsMax = 65_536
    private static let eventsPerIterationMax = 256
    /// The jobs for which an emptied array keeps its memory.
    private static let keptJobsMax = 4096
    /// The largest result of one `recv`. There is one buffer per loop, and received bytes are valid for one
    /// call.
    package static let readBufferBytes = 256 * 1024

    package let name: String
    private let priority: ThreadPriority
    /// The steady time at the start of this iteration.
    package var now: Instant { iterationStart }
    /// Exclusivity is unchecked, because other modules would check it at each read, several times for every
    /// push.
    @safe @exclusivity(unchecked) private var iterationStart = Instant.now()
    var timers = TimerHeap()
    /// The buffer of every `recv` on this loop.
    let readBuffer: UnsafeMutableRawBufferPointer

    // The thread. Only `start` and `stop` use the first two fields.
    private var thread = pthread_t()
    private var isStarted = false
    /// Whether the loop's thread has taken the request to stop from the inbox.
    private var isStopping = false

    // Descriptors.
    private let epoll: Int32
    /// The events of the current iteration.
    private let events: UnsafeMutablePointer<epoll_event>
    /// Indexed by descriptor.
    private var registrations: [Registration] = []
    private var handlersWithoutDescriptor: [ObjectIdentifier: any EventHandler] = [:]
    /// The objects that live as long as the thread.
    private var retainedObjects: [AnyObject] = []
    /// The token of the inbox's events. All other tokens are a generation and a descriptor.
    private static let wakeupToken = UInt64.max

    // Jobs and hooks. While `jobs` and `runningHooks` run, new ones collect in `inbox`, `jobsFromLoop` and `hooks`.
    private let inbox: LoopInbox
    private var jobs: [LoopJob] = []
    private var jobsFromLoop: [LoopJob] = []
    private var hooks: [any IterationHook] = []
    private var runningHooks: [any IterationHook] = []

    /// The owner of a descriptor, nil if none is registered. The system reuses the number of a closed
    /// descriptor. So the generation tells whether an event belongs to the current owner or to an earlier
    /// one.
    private struct Registration {
        var handler: (any EventHandler)?
        var generation: UInt32 = 0
    }

    package init(
        name: String, priority: ThreadPriority = .normal, jobsMax: Int = EventLoop.jobsMax
    ) throws(SystemError) {
        self.name = name
        self.priority = priority
        inbox = try LoopInbox(limit: jobsMax)
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        unsafe events = .allocate(capacity: EventLoop.eventsPerIterationMax)
        unsafe readBuffer = .allocate(byteCount: EventLoop.readBufferBytes, alignment: 64)
        let interest = Readiness([.readable, .edgeTriggered]).rawValue
        guard epoll >= 0,
            linux_epoll_set(epoll, EPOLL_CTL_ADD, inbox.wakeupDescriptor, interest, EventLoop.wakeupToken)
                == 0
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

    /// Runs the queued jobs, calls `loopWillEnd` of the registered handlers, ends the thread and waits for
    /// it. It must not be called on a loop's thread.
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

    /// Watches a descriptor and calls its handler for each event, until `deregister`.
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

    /// Adds a handler that has no descriptor yet, such as a connection whose host is being resolved. Its
    /// `loopWillEnd` is called too.
    package func addHandler(_ handler: any EventHandler) {
        handlersWithoutDescriptor[ObjectIdentifier(handler)] = handler
    }

    package func removeHandler(_ handler: any EventHandler) {
        handlersWithoutDescriptor[ObjectIdentifier(handler)] = nil
    }

    /// Keeps an object alive until the thread ends.
    func retainUntilEnd(_ object: AnyObject) {
        preconditionOnLoop()
        retainedObjects.append(object)
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
        priority.applyToCurrentThread()
        EventLoop.setCurrent(self)
        while !isStopping { runIteration() }
        for registration in registrations { registration.handler?.loopWillEnd() }
        for handler in handlersWithoutDescriptor.values { handler.loopWillEnd() }
        // Runs the jobs and hooks that the handlers requested. A closed inbox accepts no more jobs.
        var isDone = false
        while !isDone {
            runIteration()
            isDone = jobsFromLoop.isEmpty && hooks.isEmpty && inbox.closeIfEmpty()
        }
        for index in registrations.indices { registrations[index].handler = nil }
        timers.removeAll()
        retainedObjects.removeAll()
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
        // Jobs that these jobs add run in the next iteration.
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
        jobs.removeAll(keepingCapacity: jobs.count <= EventLoop.keptJobsMax)
    }

    private func runHooks() {
        guard !hooks.isEmpty else { return }
        swap(&hooks, &runningHooks)
        for hook in runningHooks { hook.iterationWillEnd() }
        runningHooks.removeAll(keepingCapacity: true)
    }

    /// The longest wait for events, rounded up so that no timer fires early. 0 does not wait, -1 waits
    /// without limit.
    private var waitMilliseconds: Int32 {
        guard jobsFromLoop.isEmpty, hooks.isEmpty, !isStopping else { return 0 }
        guard let earliest = timers.earliest else { return -1 }
        let waitNanoseconds = earliest.nanoseconds - Instant.now().nanoseconds
        return waitNanoseconds <= 0 ? 0 : Int32(clamping: (waitNanoseconds - 1) / 1_000_000 + 1)
    }
}

/// Takes over the loop that `start` retained, and runs it to its end.
private func runEventLoop(_ reference: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let reference = unsafe reference else { return nil }
    unsafe Unmanaged<EventLoop>.fromOpaque(reference).takeRetainedValue().run()
    return nil
}
