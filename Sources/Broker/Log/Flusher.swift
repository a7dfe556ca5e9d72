internal import Glibc
internal import Lifecycle
internal import Synchronization

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
}

struct FlushResult: Sendable {
    var log: Int
    var endOffset: Int64
    var error: DiskError?
}

/// Group commit: syncs what the logs hand over, together, on a thread of its own, and hands the
/// results back in a batch. While one round of syncs is under way the next one gathers.
///
/// A log has at most one request here, so the queue is bounded by the number of partitions.
package final class Flusher: Sendable {
    private struct State {
        var requests: [FlushRequest] = []
        var results: [FlushResult] = []
        var stopping = false
    }

    private let disk: Disk
    private let state = Mutex(State())
    private let wake: @Sendable () -> Void
    private let work = Signal()
    /// Rounds of syncs so far.
    private let rounds = Atomic<Int>(0)

    /// `wake` is called on the flusher's thread when results are there to be taken.
    package init(disk: Disk, wake: @escaping @Sendable () -> Void) {
        self.disk = disk
        self.wake = wake
    }

    package var roundsCount: Int { rounds.load(ordering: .relaxed) }

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

    /// One round: everything that waits, in order. Returns whether there was anything.
    @discardableResult
    package func runOnce() -> Bool {
        let requests = state.withLock { state in
            defer { state.requests.removeAll(keepingCapacity: true) }
            return state.requests
        }
        guard !requests.isEmpty else { return false }
        rounds.add(1, ordering: .relaxed)
        let results = requests.map(flush)
        state.withLock { $0.results.append(contentsOf: results) }
        wake()
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
        // A checkpoint that cannot be written costs a longer recovery, nothing else.
        try? disk.replace(checkpoint.path, with: checkpoint.bytes)
        return result
    }

    /// Runs rounds until `stop`, then a last one.
    package func run() {
        while !state.withLock({ $0.stopping }) {
            if !runOnce() { work.wait() }
        }
        runOnce()
    }

    package func stop() {
        state.withLock { $0.stopping = true }
        work.raise()
    }
}
