/// An external merge sort: it sorts any number of changes by key within bounded memory. A full batch is
/// sorted and written to disk as a run. At the end all runs are merged. Of several changes of a key only the
/// last one comes out.
package struct RowSorter: ~Copyable {
    private let directory: String
    /// The size of a batch at which it becomes a run.
    private let runBytesMax: Int
    private let retryPolicy: DiskFullRetryPolicy
    /// The changes that are not yet in a run.
    package var batch = RowBatch()
    /// The file of the runs. Nil before the first run.
    private var file: RunFile?
    /// The positions of the runs in the file. The oldest run comes first.
    private var runs: [Range<Int>] = []

    /// The memory for reading all runs in a merge, in bytes.
    private static let readBytesMax = 8 << 20
    /// The least and the most of this memory for one run.
    private static let runReadBytes = 16 << 10...256 << 10

    package init(in directory: String, runBytesMax: Int, retryPolicy: DiskFullRetryPolicy) {
        self.directory = directory
        self.runBytesMax = runBytesMax
        self.retryPolicy = retryPolicy
    }

    /// Makes space in the batch. If it throws, no change is lost.
    package mutating func flushIfFull() throws(StoreError) {
        if batch.byteCount >= runBytesMax { try writeRun() }
    }

    /// Adds a row as it is, without a checksum. If it throws, the row is not added.
    package mutating func put(_ key: Span<UInt8>, value: Span<UInt8>) throws(StoreError) {
        try flushIfFull()
        batch.put(key, value: value)
    }

    /// Adds the removal of a row.
    package mutating func remove(_ key: Span<UInt8>) throws(StoreError) {
        try flushIfFull()
        batch.remove(key)
    }

    private mutating func writeRun() throws(StoreError) {
        batch.sort()
        // The batch stays until its run is complete.
        while true {
            do throws(StoreError) {
                let file = try openFile()
                runs.append(try file.append(batch))
                return batch.removeAll()
            } catch {
                try retryPolicy.waitToRetry(after: error)
            }
        }
    }

    private mutating func openFile() throws(StoreError) -> RunFile {
        if let file { return file }
        let file = try RunFile(in: directory)
        self.file = file
        return file
    }

    /// Passes the last change of each key to `body`, in key order, and removes all changes.
    package mutating func drain(
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
        guard let file else { return }
        let equalShare = Self.readBytesMax / runs.count
        let bufferBytes = min(max(equalShare, Self.runReadBytes.lowerBound), Self.runReadBytes.upperBound)
        var merge = RunMerge(runsMax: runs.count)
        for run in runs { merge.add(try RunReader(file, run: run, bufferBytes: bufferBytes)) }
        runs = []
        self.file = nil
        try merge.drain(body)
    }
}
