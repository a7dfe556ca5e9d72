internal import Glibc
internal import Lifecycle
internal import Synchronization
package import Telemetry

/// The group commit of the logs. Its threads sync files, and the loop takes the results of several syncs
/// at once. While a log's sync is under way, its appends gather for the next one. Syncs of different logs
/// run side by side, because the file system combines them (twelve files take 35 ms one after the other,
/// and 4 ms on four threads).
///
/// A log has at most one request in the queue, so the number of partitions bounds it.
package final class Flusher: Sendable {
    private struct FlusherState {
        var requests: [FlushRequest] = []
        var results: [FlushResult] = []
        var isStopping = false
    }

    private let disk: Disk
    private let syncSeconds: Histogram?
    private let state = TracedLock(FlusherState())
    /// Lets the loop take results. Called on a flusher's thread.
    private let wakeLoop: @Sendable () -> Void
    /// Wakes a flusher's thread for a request, or to stop.
    private let wakeSignal = ThreadSignal()
    private let requestCounter = Atomic<Int>(0)

    /// Number of requests so far.
    package var requestCount: Int { requestCounter.load(ordering: .relaxed) }

    /// Number of threads that should call `run`. More threads gain nothing.
    package static let threadCount = 4

    /// The flusher calls `wake` on its thread when there are results.
    package init(disk: Disk, syncSeconds: Histogram? = nil, wake: @escaping @Sendable () -> Void) {
        self.disk = disk
        self.syncSeconds = syncSeconds
        wakeLoop = wake
    }

    func submit(_ request: FlushRequest) {
        state.withLock { $0.requests.append(request) }
        wakeSignal.raise()
    }

    func takeResults() -> [FlushResult] {
        state.withLock { state in
            defer { state.results.removeAll(keepingCapacity: true) }
            return state.results
        }
    }

    /// Carries out the oldest request. Returns false if the queue was empty.
    @discardableResult
    package func runOnce() -> Bool {
        let request = state.withLock { $0.requests.isEmpty ? nil : $0.requests.removeFirst() }
        guard let request else { return false }
        requestCounter.add(1, ordering: .relaxed)
        let start = Instant.now()
        let result = flush(request)
        syncSeconds?.observe(Instant.now().seconds(since: start))
        let isFirstResult = state.withLock { state in
            state.results.append(result)
            return state.results.count == 1
        }
        // Later results need no wake-up: the loop takes them together with the first.
        if isFirstResult { wakeLoop() }
        return true
    }

    /// Syncs the files of a request, and writes its checkpoint only if that succeeds.
    private func flush(_ request: FlushRequest) -> FlushResult {
        var result = FlushResult(log: request.log, endOffset: request.endOffset)
        do throws(DiskError) {
            for file in request.files { try disk.sync(file) }
            if let directory = request.directory { try disk.syncDirectory(at: directory) }
        } catch {
            result.error = error
            return result
        }
        guard let checkpoint = request.checkpoint else { return result }
        do throws(DiskError) {
            try disk.replace(checkpoint.path, with: checkpoint.bytes)
            result.checkpoint = .written(checkpoint)
        } catch {
            result.checkpoint = .failed(error)
        }
        return result
    }

    /// Carries out requests until `stop`, and then those that are left. Any number of threads may call it.
    package func run() {
        while !state.withLock({ $0.isStopping }) {
            if !runOnce() { wakeSignal.wait() }
        }
        while runOnce() {}
        // Wakes the next thread, so that it ends too.
        wakeSignal.raise()
    }

    package func stop() {
        state.withLock { $0.isStopping = true }
        wakeSignal.raise()
    }
}
