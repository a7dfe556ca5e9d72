internal import Store

/// An external merge sort: it sorts any number of changes by key within bounded memory. A full batch is
/// sorted and written to disk as a run. At the end all runs are merged. Of several changes of a key only the
/// last one comes out.
struct RowSorter: ~Copyable {
    private let directory: String
    /// The size of a batch at which it becomes a run.
    private let runBytesMax: Int
    private let retryPolicy: DiskFullRetryPolicy
    /// The changes that are not yet in a run.
    var batch = RowBatch()
    /// The oldest run comes first.
    private var runs: [Run] = []

    /// A box, because arrays cannot contain noncopyable values.
    private final class Run {
        private var file: RunFile?
        init(_ file: consuming RunFile) { self.file = consume file }
        func take() -> RunFile? { file.take() }
    }

    /// The read buffer of each run in a merge.
    private static let readBufferBytes = 256 << 10

    init(in directory: String, runBytesMax: Int, retryPolicy: DiskFullRetryPolicy) {
        self.directory = directory
        self.runBytesMax = runBytesMax
        self.retryPolicy = retryPolicy
    }

    /// Makes space in the batch. If it throws, no change is lost.
    mutating func flushIfFull() throws(StoreError) {
        if batch.byteCount >= runBytesMax { try writeRun() }
    }

    mutating func put(_ key: Span<UInt8>, value: Span<UInt8>) throws(StoreError) {
        try flushIfFull()
        batch.put(key, value: value)
    }

    private mutating func writeRun() throws(StoreError) {
        batch.sort()
        // A failed run disappears with its file. The batch stays.
        while true {
            do throws(StoreError) {
                var file = try RunFile(in: directory)
                try file.append(batch)
                runs.append(Run(file))
                return batch.removeAll()
            } catch {
                try retryPolicy.waitToRetry(after: error)
            }
        }
    }

    /// Passes the last change of each key to `body`, in key order, and removes all changes.
    mutating func drain(
        _ body: (_ key: Span<UInt8>, _ value: Span<UInt8>?) throws(StoreError) -> Void
    ) throws(StoreError) {
        if runs.isEmpty {
            batch.sort()
            for index in 0..<batch.count where batch.isLastForKey(at: index) {
                try body(batch.key(at: index), batch.value(at: index))
            }
            batch = RowBatch()
            return
        }
        if !batch.isEmpty { try writeRun() }
        batch = RowBatch()
        var merge = RunMerge(runsMax: runs.count)
        for run in runs {
            if let file = run.take() { merge.add(try RunReader(file, bufferBytes: Self.readBufferBytes)) }
        }
        runs = []
        try merge.drain(body)
    }
}
