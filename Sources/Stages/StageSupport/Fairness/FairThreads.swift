package import Lifecycle

/// A few threads for jobs that block, such as reading files or topics for a caller. `FairQueue` decides which job is
/// next. A caller has at most one thread at a time, so a caller whose jobs are slow waits for itself only.
///
/// Each thread has its own value, for example its consumers. A thread starts with the first job for which no other
/// thread is idle.
package final class FairThreads<Value>: Sendable {
    /// The work for a caller. It receives nil, on any thread, if its thread cannot start, or if the threads end before
    /// its turn.
    package typealias Job = @Sendable (Value?) -> Void

    private struct State {
        var queue: FairQueue<Job>
        var threads: [LoopOwned<Value>] = []
        /// Indices of `threads`.
        var idleThreads: [Int] = []
        var isStopped = false
    }

    private struct TakenJob {
        let job: Job
        let caller: String
        /// The thread with its index, or nil if it could not start.
        let thread: (LoopOwned<Value>, index: Int)?
    }

    private let name: String
    private let priority: ThreadPriority
    private let threadsMax: Int
    private let make: @Sendable (LoopOwned<Value>) -> Value
    private let state: TracedLock<State>

    /// - Parameters:
    ///   - name: The beginning of the threads' names.
    ///   - make: Makes the value of a thread, on that thread.
    package init(
        name: String, priority: ThreadPriority = .normal, threads threadsMax: Int,
        limits: FairQueue<Job>.Limits,
        make: @escaping @Sendable (LoopOwned<Value>) -> Value
    ) {
        self.name = name
        self.priority = priority
        self.threadsMax = threadsMax
        self.make = make
        state = TracedLock(State(queue: FairQueue(limits: limits)))
    }

    /// Runs a job as soon as it is the caller's turn.
    ///
    /// - Returns: False if too many jobs wait, or if the threads have ended. Then the job is not called.
    package func run(for caller: String, job: @escaping Job) -> Bool {
        let isAccepted = state.withLock { state in
            if state.isStopped { return false }
            return state.queue.add(job, of: caller, at: .now())
        }
        if isAccepted { startJobs() }
        return isAccepted
    }

    /// Gives waiting jobs to idle threads.
    private func startJobs() {
        while let taken = takeJob() {
            let (job, caller) = (taken.job, taken.caller)
            guard let (thread, index) = taken.thread else {
                state.withLock { $0.queue.finish(caller, nanoseconds: 0, at: .now()) }
                job(nil)
                continue
            }
            let isTaken = thread.execute { [self] value in
                let began = Instant.now()
                job(value)
                endJob(of: caller, on: index, began: began)
            }
            // The thread has ended, so `stop` was called. It has emptied the queue, which needs no `finish` any more.
            if !isTaken { job(nil) }
        }
    }

    private func takeJob() -> TakenJob? {
        state.withLock { state in
            guard !state.isStopped, !state.idleThreads.isEmpty || state.threads.count < threadsMax,
                let (job, caller) = state.queue.takeNext(at: .now())
            else { return nil }
            if let index = state.idleThreads.popLast() {
                return TakenJob(job: job, caller: caller, thread: (state.threads[index], index))
            }
            guard let thread = try? startThread(number: state.threads.count) else {
                return TakenJob(job: job, caller: caller, thread: nil)
            }
            state.threads.append(thread)
            return TakenJob(job: job, caller: caller, thread: (thread, state.threads.count - 1))
        }
    }

    /// Starts a thread without waiting for it, because `run` may be called on an event loop.
    private func startThread(number: Int) throws -> LoopOwned<Value> {
        let loop = try EventLoop(name: "\(name)-\(number)", priority: priority)
        try loop.start()
        return LoopOwned(on: loop, make: make)
    }

    private func endJob(of caller: String, on thread: Int, began: Instant) {
        let now = Instant.now()
        state.withLock { state in
            state.idleThreads.append(thread)
            state.queue.finish(caller, nanoseconds: now.seconds(since: began) * 1e9, at: now)
        }
        startJobs()
    }

    /// Lets each thread finish its present job, runs `lastJob` on it, and ends it. Waiting jobs get nil. Blocks until all
    /// threads have ended.
    package func stop(finally lastJob: @escaping @Sendable (Value) -> Void = { _ in }) {
        let (waiting, threads) = state.withLock { state in
            state.isStopped = true
            return (state.queue.removeAll(), state.threads)
        }
        for job in waiting { job(nil) }
        for thread in threads { thread.stop(finally: lastJob) }
    }
}
