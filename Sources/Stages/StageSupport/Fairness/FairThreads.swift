package import Lifecycle

/// A few threads for jobs that block, such as reading files or topics for a caller. `FairQueue` decides which job is
/// next. A caller has at most one thread at a time, so a caller whose jobs are slow waits for itself only.
///
/// Each thread has its own value, for example its consumers.
package final class FairThreads<Value>: Sendable {
    /// The work for a caller. It receives nil, on any thread, if the threads end before its turn.
    package typealias Job = @Sendable (Value?) -> Void

    private struct State {
        var queue: FairQueue<Job>
        var idleThreads: [Int]
        var isStopped = false
    }

    private let threads: [LoopOwned<Value>]
    private let state: TracedLock<State>

    /// - Parameters:
    ///   - name: The beginning of the threads' names.
    ///   - make: Makes the value of a thread, on that thread.
    package init(
        name: String, threads count: Int, limits: FairQueue<Job>.Limits,
        make: @escaping @Sendable (LoopOwned<Value>) throws -> Value
    ) throws {
        var threads: [LoopOwned<Value>] = []
        do {
            for number in 0..<count {
                threads.append(try LoopOwned(thread: "\(name)-\(number)", make: make))
            }
        } catch {
            for thread in threads { thread.stop() }
            throw error
        }
        self.threads = threads
        state = TracedLock(State(queue: FairQueue(limits: limits), idleThreads: Array(0..<count)))
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
        while let (job, caller, number) = takeJob() {
            let isTaken = threads[number].execute { [self] value in
                let began = Instant.now()
                job(value)
                endJob(of: caller, on: number, began: began)
            }
            if !isTaken { job(nil) }
        }
    }

    private func takeJob() -> (Job, caller: String, thread: Int)? {
        state.withLock { state in
            guard let thread = state.idleThreads.last, let (job, caller) = state.queue.takeNext(at: .now())
            else { return nil }
            state.idleThreads.removeLast()
            return (job, caller, thread)
        }
    }

    private func endJob(of caller: String, on thread: Int, began: Instant) {
        let now = Instant.now()
        state.withLock { state in
            state.idleThreads.append(thread)
            state.queue.finish(caller, nanoseconds: now.seconds(since: began) * 1e9, at: now)
        }
        startJobs()
    }

    /// Ends the threads after their present jobs, and `lastJob` on each of them. Waiting jobs get nil. Blocks until
    /// then.
    package func stop(finally lastJob: @escaping @Sendable (Value) -> Void = { _ in }) {
        let waiting = state.withLock { state in
            state.isStopped = true
            return state.queue.removeAll()
        }
        for job in waiting { job(nil) }
        for thread in threads { thread.stop(finally: lastJob) }
    }
}
