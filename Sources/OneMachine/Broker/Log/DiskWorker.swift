internal import Lifecycle

/// The thread for long work on files: compaction, and the removal of files. It runs one job after the
/// other and gives the results back in a batch.
///
/// The queue is bounded by its users: one compaction for each log, and the removals of retention and
/// deletions.
package final class DiskWorker: Sendable {
    enum Job: Sendable {
        case compact(CompactionPlan)
        case remove([String])
        case removeDirectories([String])
    }

    private struct WorkerState {
        var jobs: [Job] = []
        var results: [CompactionResult] = []
        var stopping = false
    }

    private let disk: Disk
    private let state = TracedLock(WorkerState())
    private let wake: @Sendable () -> Void
    private let wakeSignal = ThreadSignal()

    init(disk: Disk, wake: @escaping @Sendable () -> Void) {
        self.disk = disk
        self.wake = wake
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

    /// Runs one job. Returns false without a job.
    @discardableResult
    package func runOnce() -> Bool {
        let job = state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
        guard let job else { return false }
        switch job {
        case .compact(let plan):
            let result = CompactionPass.run(plan: plan, disk: disk) { self.state.withLock { $0.stopping } }
            state.withLock { $0.results.append(result) }
            wake()
        // Files that cannot be removed now are removed at the next start.
        case .remove(let paths):
            for path in paths { try? disk.removeFile(at: path) }
        case .removeDirectories(let paths):
            for path in paths { try? disk.removeDirectory(at: path) }
        }
        return true
    }

    /// Runs jobs until `stop`. A compaction under way is given up and leaves the log as it was.
    package func run() {
        while !state.withLock({ $0.stopping }) {
            if !runOnce() { wakeSignal.wait() }
        }
    }

    package func stop() {
        state.withLock { $0.stopping = true }
        wakeSignal.raise()
    }
}
