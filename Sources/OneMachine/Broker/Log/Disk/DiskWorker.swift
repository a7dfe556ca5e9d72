internal import Lifecycle

/// The queue of the thread for long work on files, which is compaction and the removal of files. The
/// thread runs one job after the other. The loop takes the results of all finished compactions at once.
///
/// The queue has at most one compaction for each log, and the removals of retention and deletions.
package final class DiskWorker: Sendable {
    enum Job: Sendable {
        case compact(CompactionPlan)
        case remove([String])
        case removeDirectories([String])
    }

    private struct WorkerState {
        var jobs: [Job] = []
        var results: [CompactionResult] = []
        var isStopping = false
    }

    private let disk: Disk
    private let state = TracedLock(WorkerState())
    /// Lets the loop take results. Called on the worker's thread.
    private let wakeLoop: @Sendable () -> Void
    /// Wakes the worker's thread for a job, or to stop.
    private let wakeSignal = ThreadSignal()

    init(disk: Disk, wake: @escaping @Sendable () -> Void) {
        self.disk = disk
        wakeLoop = wake
    }

    func submit(_ job: Job) {
        state.withLock { $0.jobs.append(job) }
        wakeSignal.raise()
    }

    func takeResults() -> [CompactionResult] {
        state.withLock { state in
            defer { state.results.removeAll() }
            return state.results
        }
    }

    /// Runs the oldest job. Returns false if the queue was empty.
    @discardableResult
    package func runOnce() -> Bool {
        let job = state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
        guard let job else { return false }
        switch job {
        case .compact(let plan):
            let result = CompactionPass.run(plan: plan, disk: disk) { self.state.withLock { $0.isStopping } }
            state.withLock { $0.results.append(result) }
            wakeLoop()
        // A file that cannot be removed now is removed at the next start.
        case .remove(let paths):
            for path in paths { try? disk.removeFile(at: path) }
        case .removeDirectories(let paths):
            for path in paths { try? disk.removeDirectory(at: path) }
        }
        return true
    }

    /// Runs jobs until `stop`. A compaction under way then fails and leaves the log as it was.
    package func run() {
        while !state.withLock({ $0.isStopping }) {
            if !runOnce() { wakeSignal.wait() }
        }
    }

    package func stop() {
        state.withLock { $0.isStopping = true }
        wakeSignal.raise()
    }
}
