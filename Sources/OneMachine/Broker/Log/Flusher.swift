internal import Glibc
internal import Lifecycle
internal import Synchronization
package import Telemetry

/// The moment at which an append counts as safe and readers may see it.
package enum FlushPolicy: Sendable, Equatable {
    /// Its bytes are on the disk. Appends of a few milliseconds share one sync.
    case everyAck
    /// At once; the operating system writes later. A crash of the process loses nothing. A crash of the
    /// machine can lose acknowledged records of the last half minute.
    case os
}

/// The files to sync before a log's offsets below `endOffset` are on the disk.
struct FlushRequest: Sendable {
    var log: Int
    var files: [OpenFile]
    /// The directory to sync as well, if a file was created in it.
    var directory: String?
    var endOffset: Int64
    /// The checkpoint to write after the sync.
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

/// The group commit: it syncs the files of the logs on its threads and gives the results back in batches.
/// While a log's sync is under way, its appends gather for the next one. Syncs of different logs run side
/// by side, because the file system combines them (twelve files: 35 ms one after the other, 4 ms by four
/// threads).
///
/// A log has at most one request in the queue, so the number of partitions bounds it.
package final class Flusher: Sendable {
    private struct FlusherState {
        var requests: [FlushRequest] = []
        var results: [FlushResult] = []
        var stopping = false
    }

    private let disk: Disk
    private let syncSeconds: Histogram?
    private let state = TracedLock(FlusherState())
    private let wake: @Sendable () -> Void
    private let wakeSignal = ThreadSignal()
    private let requestCounter = Atomic<Int>(0)

    /// Number of requests so far.
    package var requestCount: Int { requestCounter.load(ordering: .relaxed) }

    /// Number of threads that should call `run`. More threads gain nothing.
    package static let threads = 4

    /// The flusher calls `wake` on its thread when there are results.
    package init(disk: Disk, syncSeconds: Histogram? = nil, wake: @escaping @Sendable () -> Void) {
        self.disk = disk
        self.syncSeconds = syncSeconds
        self.wake = wake
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

    /// Carries out the oldest request. Returns whether there was one.
    @discardableResult
    package func runOnce() -> Bool {
        let request = state.withLock { $0.requests.isEmpty ? nil : $0.requests.removeFirst() }
        guard let request else { return false }
        requestCounter.add(1, ordering: .relaxed)
        let began = Instant.now()
        let result = flush(request)
        syncSeconds?.observe(Instant.now().seconds(since: began))
        let isFirst = state.withLock { state in
            state.results.append(result)
            return state.results.count == 1
        }
        // The first result of a batch has already announced it.
        if isFirst { wake() }
        return true
    }

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

    /// Syncs until `stop`, and then the rest. Any number of threads may call it.
    package func run() {
        while !state.withLock({ $0.stopping }) {
            if !runOnce() { wakeSignal.wait() }
        }
        while runOnce() {}
        // Wakes the next thread, so that it ends too.
        wakeSignal.raise()
    }

    package func stop() {
        state.withLock { $0.stopping = true }
        wakeSignal.raise()
    }
}
