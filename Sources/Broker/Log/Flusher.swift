internal import Glibc
internal import Lifecycle
internal import Synchronization
package import Telemetry

/// When an append counts as safe, and who may read it.
package enum FlushPolicy: Sendable, Equatable {
    /// When its bytes are on the disk; appends of a few milliseconds share one sync.
    case everyAck
    /// At once: the operating system writes when it likes. A crash of the process loses nothing; a
    /// crash of the machine loses what was acknowledged in the last half minute or so.
    case os
}

/// Files to sync, so that a log's offsets below `endOffset` are on disk.
struct FlushRequest: Sendable {
    var log: Int
    var files: [OpenFile]
    /// Names in this directory are to be made durable too.
    var directory: String?
    var endOffset: Int64
    /// Written when the files are synced.
    var checkpoint: CheckpointFile?
}

struct CheckpointFile: Sendable {
    var path: String
    var bytes: [UInt8]
    /// The first offset of the segment that it points into.
    var segment: Int64
    /// The log's changes that it includes.
    var changes: Int
}

enum CheckpointOutcome: Sendable {
    case notAsked
    case written(CheckpointFile)
    case failed(DiskError)
}

struct FlushResult: Sendable {
    var log: Int
    var endOffset: Int64
    var error: DiskError?
    var checkpoint = CheckpointOutcome.notAsked
}

/// Group commit: syncs what the logs hand over, on threads of its own, and hands the results back in
/// batches. While a log's sync is under way, its next one gathers; syncs of different logs run side
/// by side, because the file system carries out together what it is asked for together (twelve
/// files: 35 ms one after the other, 4 ms by four threads).
///
/// A log has at most one request here, so the queue is bounded by the number of partitions.
package final class Flusher: Sendable {
    private struct State {
        var requests: [FlushRequest] = []
        var results: [FlushResult] = []
        var stopping = false
    }

    private let disk: Disk
    private let syncSeconds: Histogram?
    private let state = TracedLock(State())
    private let wake: @Sendable () -> Void
    private let work = WakeSignal()
    private let rounds = Atomic<Int>(0)

    /// Requests carried out so far.
    package var roundsCount: Int { rounds.load(ordering: .relaxed) }

    /// How many threads should `run`: more gain nothing.
    package static let threads = 4

    /// `wake` is called on the flusher's thread when results are there to be taken.
    package init(disk: Disk, syncSeconds: Histogram? = nil, wake: @escaping @Sendable () -> Void) {
        self.disk = disk
        self.syncSeconds = syncSeconds
        self.wake = wake
    }

    func submit(_ request: FlushRequest) {
        state.withLock { $0.requests.append(request) }
        work.raise()
    }

    func takeResults() -> [FlushResult] {
        state.withLock { state in
            defer { state.results.removeAll(keepingCapacity: true) }
            return state.results
        }
    }

    /// Syncs what has waited longest. Returns whether there was anything.
    @discardableResult
    package func runOnce() -> Bool {
        let request = state.withLock { $0.requests.isEmpty ? nil : $0.requests.removeFirst() }
        guard let request else { return false }
        rounds.add(1, ordering: .relaxed)
        let began = Instant.now()
        let result = flush(request)
        syncSeconds?.observe(Instant.now().seconds(since: began))
        let isFirst = state.withLock { state in
            state.results.append(result)
            return state.results.count == 1
        }
        // Results that nobody has taken yet were announced by the first of them.
        if isFirst { wake() }
        return true
    }

    private func flush(_ request: FlushRequest) -> FlushResult {
        var result = FlushResult(log: request.log, endOffset: request.endOffset)
        do throws(DiskError) {
            for file in request.files { try disk.sync(file) }
            if let directory = request.directory { try disk.syncDirectory(directory) }
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

    /// Syncs until `stop`, and then what is left. On any number of threads at once.
    package func run() {
        while !state.withLock({ $0.stopping }) {
            if !runOnce() { work.wait() }
        }
        while runOnce() {}
        // The next thread is to hear of the end, too.
        work.raise()
    }

    package func stop() {
        state.withLock { $0.stopping = true }
        work.raise()
    }
}
