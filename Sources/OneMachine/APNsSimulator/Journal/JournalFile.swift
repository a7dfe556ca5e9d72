internal import Glibc
internal import JSON
internal import Lifecycle
internal import Telemetry

/// The journal on disk, with one JSON object per line. A separate thread writes it, so that no push waits for
/// a disk. Entries above `JournalLimits.waitingEntriesMax`, and entries that cannot be written, are omitted and
/// counted. Gaps in the entry numbers show them.
///
/// `@unchecked Sendable`: the descriptor and the size belong to the writing thread, and the rest is locked.
final class JournalFile: @unchecked Sendable {
    /// The entries that wait for the thread. `append` on the simulator's loop adds them.
    private struct QueueState {
        var waiting: [JournalRing.NumberedEntry] = []
        /// Approximate bytes of the waiting entries.
        var waitingBytes = 0
        var omittedEntries = 0
        var isStopping = false
    }

    private let path: String
    private let syncs: Bool
    private let showsPayloads: Bool
    private let limits: JournalLimits
    private let log: Log
    private let state = TracedLock(QueueState())
    private let wakeSignal = ThreadSignal()
    private var thread: WorkerThread?
    private var descriptor: Int32
    /// Size of the file.
    private var fileBytes: Int

    /// - Parameters:
    ///   - syncs: whether each batch is synced to disk before the next one is written.
    ///   - showsPayloads: whether entries contain the request's payload.
    init(
        path: String, syncs: Bool, showsPayloads: Bool = false, limits: JournalLimits, log: Log
    ) throws(SystemError) {
        self.path = path
        self.syncs = syncs
        self.showsPayloads = showsPayloads
        self.limits = limits
        self.log = log
        descriptor = try Self.open(path: path)
        fileBytes = max(0, Int(lseek(descriptor, 0, SEEK_END)))
        thread = try WorkerThread(name: "journal") { [self] in run() }
    }

    deinit { close(descriptor) }

    private static func open(path: String) throws(SystemError) -> Int32 {
        let descriptor = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError(action: "open the journal \(path)", code: errno) }
        return descriptor
    }

    /// Number of entries that are missing from the file.
    var omittedEntries: Int { state.withLock { $0.omittedEntries } }

    /// Passes entries to the thread, or omits them all if they exceed a limit.
    func append(_ entries: [JournalRing.NumberedEntry]) {
        let entryBytes = entries.reduce(0) { $0 + $1.entry.memoryBytes }
        let mustWakeThread = state.withLock { state in
            guard state.waiting.count + entries.count <= limits.waitingEntriesMax,
                state.waitingBytes + entryBytes <= limits.waitingBytesMax
            else {
                state.omittedEntries += entries.count
                return false
            }
            let wasEmpty = state.waiting.isEmpty
            state.waiting += entries
            state.waitingBytes += entryBytes
            return wasEmpty
        }
        if mustWakeThread { wakeSignal.raise() }
    }

    /// Writes the waiting entries and then returns.
    func stop() {
        state.withLock { $0.isStopping = true }
        wakeSignal.raise()
        thread?.join()
        thread = nil
    }

    // MARK: The thread

    private func run() {
        var json = JSONWriter(capacity: 64 * 1024)
        while true {
            let (batch, isStopping) = state.withLock { state in
                let batch = state.waiting
                state.waiting = []
                state.waitingBytes = 0
                return (batch, state.isStopping)
            }
            if batch.isEmpty {
                if isStopping { return }
                wakeSignal.wait()
                continue
            }
            write(batch, with: &json)
        }
    }

    /// Writes a line for each entry. Begins a new file when the file is full.
    private func write(_ batch: [JournalRing.NumberedEntry], with json: inout JSONWriter) {
        var lines = Lines()
        for numbered in batch {
            json.removeAll()
            numbered.write(to: &json, showsPayload: showsPayloads)
            let isFileFull = fileBytes + lines.bytes.count + json.count >= limits.fileBytesMax
            if isFileFull || lines.bytes.count >= Self.batchBytesMax {
                writeLines(&lines)
                // One line may be longer than the limit. Then it is written to an empty file.
                if isFileFull, fileBytes > 0 { rotate() }
            }
            unsafe json.withBytes { unsafe lines.bytes.append(contentsOf: $0) }
            lines.bytes.append(UInt8(ascii: "\n"))
            lines.count += 1
        }
        writeLines(&lines)
    }

    /// Lines that are written together.
    private struct Lines {
        var bytes: [UInt8] = []
        var count = 0
    }

    /// Size at which lines are written to the file.
    private static let batchBytesMax = 1 << 20

    /// Writes the lines and empties the batch. Lines that cannot be written are counted.
    private func writeLines(_ lines: inout Lines) {
        guard lines.count > 0 else { return }
        do {
            try writeBytes(lines.bytes)
        } catch {
            log.warning(
                "journal cannot be written; free disk space or choose another file", .field("error", error),
                .field("entries", lines.count))
            let lostCount = lines.count
            state.withLock { $0.omittedEntries += lostCount }
        }
        lines = Lines()
    }

    private func writeBytes(_ lines: [UInt8]) throws(SystemError) {
        var offset = 0
        while offset < lines.count {
            let writtenCount = unsafe lines.withUnsafeBytes { bytes in
                unsafe Glibc.write(descriptor, bytes.baseAddress! + offset, bytes.count - offset)
            }
            if writtenCount < 0, errno == EINTR { continue }
            guard writtenCount > 0 else {
                let code = errno
                // Without this, the next line would continue an incomplete one.
                ftruncate(descriptor, off_t(fileBytes))
                throw SystemError(action: "write the journal \(path)", code: code)
            }
            offset += writtenCount
        }
        fileBytes += lines.count
        if syncs, fdatasync(descriptor) != 0 {
            throw SystemError(action: "sync the journal \(path)", code: errno)
        }
    }

    /// Renames the file to `.1` and begins a new one. If this fails, the file continues to grow.
    private func rotate() {
        do {
            guard unsafe rename(path, path + ".1") == 0 else {
                throw SystemError(action: "rename the journal \(path)", code: errno)
            }
            let newDescriptor = try Self.open(path: path)
            close(descriptor)
            descriptor = newDescriptor
            fileBytes = 0
        } catch {
            log.warning("journal file cannot be rotated; it continues to grow", .field("error", error))
        }
    }
}
