internal import Lifecycle

/// Work on files that the loop thread must not wait for: compaction, and freeing removed files. One
/// thread, one job after the other; results are handed back in a batch.
///
/// Jobs are bounded by their makers: one compaction a log, and removals that retention or a
/// deletion has asked for.
package final class DiskWorker: Sendable {
    enum Job: Sendable {
        case compact(CompactionPlan)
        case remove([String])
        case removeDirectories([String])
    }

    private struct State {
        var jobs: [Job] = []
        var results: [CompactionResult] = []
        var stopping = false
    }

    private let disk: Disk
    private let state = TracedLock(State())
    private let wake: @Sendable () -> Void
    private let work = WakeSignal()

    init(disk: Disk, wake: @escaping @Sendable () -> Void) {
        self.disk = disk
        self.wake = wake
    }

    func submit(_ job: Job) {
        state.withLock { $0.jobs.append(job) }
        work.raise()
    }

    func takeResults() -> [CompactionResult] {
        state.withLock { state in
            defer { state.results.removeAll() }
            return state.results
        }
    }

    /// One job; false if there is none.
    @discardableResult
    package func runOnce() -> Bool {
        let job = state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
        guard let job else { return false }
        switch job {
        case .compact(let plan):
            let result = CompactionPass.run(plan, disk: disk) { self.state.withLock { $0.stopping } }
            state.withLock { $0.results.append(result) }
            wake()
        // What cannot be removed now is removed at the next start.
        case .remove(let paths):
            for path in paths { try? disk.remove(path) }
        case .removeDirectories(let paths):
            for path in paths { try? disk.removeDirectory(path) }
        }
        return true
    }

    /// Runs jobs until `stop`; a compaction under way is given up and leaves the log as it was.
    package func run() {
        while !state.withLock({ $0.stopping }) {
            if !runOnce() { work.wait() }
        }
    }

    package func stop() {
        state.withLock { $0.stopping = true }
        work.raise()
    }
}
