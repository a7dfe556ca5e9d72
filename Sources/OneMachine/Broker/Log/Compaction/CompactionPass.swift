/// The compaction of one log's closed segments, on a worker thread. It keeps the newest record of each
/// key, and drops aborted records, and tombstones and markers after their grace time.
///
/// It first reads the segments for the newest offset of each key, and then writes new files beside the old
/// ones. The loop thread exchanges them later. Data records whose keys it has not read stay as they are.
struct CompactionPass {
    private let plan: CompactionPlan
    private let disk: Disk
    /// Checked for each batch, so that a stopping broker does not wait for a pass.
    private let isStopping: () -> Bool
    private var keys = KeyMap()
    /// The pass has not read the keys from this offset on, so those records stay.
    private var mappedUpTo: Int64
    private var filter: CompactionFilter
    /// The files that this pass has made. If the pass fails, all must be removed. Otherwise the broker's next
    /// start would put one of them in the place of segments that have changed since then.
    private var createdFiles: [String] = []

    init(plan: CompactionPlan, disk: Disk, isStopping: @escaping () -> Bool) {
        self.isStopping = isStopping
        self.plan = plan
        self.disk = disk
        mappedUpTo = plan.firstDirty
        filter = CompactionFilter(plan: plan)
    }

    /// Runs a pass. If it fails, the result has the error and the log stays as it is.
    static func run(
        plan: CompactionPlan, disk: Disk, isStopping: @escaping () -> Bool
    ) -> CompactionResult {
        var pass = CompactionPass(plan: plan, disk: disk, isStopping: isStopping)
        var result = CompactionResult(log: plan.log, incarnation: plan.incarnation)
        do throws(LogError) {
            try pass.mapKeys()
            result.groups = try pass.rewrite()
            result.cleanedUpTo = pass.mappedUpTo
            result.removedBelow = min(plan.removableBelow, pass.mappedUpTo)
        } catch {
            result.error = error
            result.leftovers = pass.removeCreatedFiles()
        }
        return result
    }

    /// Removes the files of a failed pass; returns those that may still exist.
    private func removeCreatedFiles() -> [String] {
        guard !createdFiles.isEmpty else { return [] }
        do throws(DiskError) {
            for path in createdFiles { try disk.removeFile(at: path) }
            try disk.syncDirectory(at: plan.directory)
        } catch {
            return createdFiles
        }
        return []
    }

    private func reader(of source: CompactionPlan.Source) throws(LogError) -> SegmentReader {
        try convertingDiskErrors { () throws(DiskError) in
            let file = try disk.open(path: source.path, writable: false)
            return SegmentReader(
                disk: disk, file: file, position: 0, offset: source.baseOffset, end: source.size)
        }
    }

    // MARK: Keys

    /// Maps the newest offset of each key in the part that no pass has compacted. Stops when the map is full;
    /// the next pass continues there.
    private mutating func mapKeys() throws(LogError) {
        for source in plan.sources where source.endOffset > plan.firstDirty {
            var reader = try reader(of: source)
            while true {
                if keys.count >= plan.keysMax { return }
                try checkStopping()
                let hasBatch = try unsafe read(&reader, of: source) { (header, batch) throws(LogError) in
                    if header.nextOffset > plan.firstDirty, !header.isControl, !filter.isAborted(header) {
                        try unsafe mapKeys(of: header, batch: batch)
                    }
                }
                guard hasBatch else { break }
                mappedUpTo = max(mappedUpTo, reader.offset)
            }
            mappedUpTo = max(mappedUpTo, source.endOffset)
        }
    }

    /// Gives the next batch to `body`. Returns false at the end. In a segment with known damage it skips the
    /// damage; elsewhere damage fails the pass.
    private func read(
        _ reader: inout SegmentReader, of source: CompactionPlan.Source,
        body: (BatchHeader, UnsafeRawBufferPointer) throws(LogError) -> Void
    ) throws(LogError) -> Bool {
        let result: Void? =
            source.isDamaged ? try unsafe reader.nextSkippingDamage(body) : try unsafe reader.next(body)
        return result != nil
    }

    private mutating func mapKeys(of header: BatchHeader, batch: UnsafeRawBufferPointer) throws(LogError) {
        let records = try unsafe header.decompressedRecords(of: batch)
        try unsafe records.withBytes { (bytes) throws(LogError) in
            var reader = unsafe RecordReader(bytes, count: Int(header.recordCount))
            while let record = try reader.next() {
                guard let key = record.key else { continue }
                unsafe keys.record(
                    UnsafeRawBufferPointer(rebasing: bytes[key]), at: try header.offset(of: record))
            }
        }
    }

    // MARK: Files

    /// Writes new files for the segments, one for several neighbors if they fit into one segment. A damaged segment stays.
    private mutating func rewrite() throws(LogError) -> [CompactionResult.Group] {
        var groups: [CompactionResult.Group] = []
        var sources: [CompactionPlan.Source] = []
        var sourcesSize = 0
        for source in plan.sources where source.baseOffset < mappedUpTo {
            let isFull = sourcesSize + source.size > plan.segmentBytes
            let exceedsIndex =
                sources.first.map { source.endOffset - $0.baseOffset > Int64(Int32.max) } ?? false
            if isFull || exceedsIndex || source.isDamaged {
                if let group = try writeGroup(sources) { groups.append(group) }
                sources = []
                sourcesSize = 0
            }
            guard !source.isDamaged else { continue }
            sources.append(source)
            sourcesSize += source.size
        }
        if let group = try writeGroup(sources) { groups.append(group) }
        return groups
    }

    /// Writes one new segment from neighboring segments. Returns nil if it would not differ from a single old one.
    private mutating func writeGroup(
        _ sources: [CompactionPlan.Source]
    ) throws(LogError) -> CompactionResult.Group? {
        guard let first = sources.first, let last = sources.last else { return nil }
        let cleanedPath = Segment.path(in: plan.directory, from: first.baseOffset, suffix: "cleaned")
        createdFiles.append(cleanedPath)
        var writer = try convertingDiskErrors { () throws(DiskError) in
            try SegmentWriter(
                disk: disk, path: cleanedPath, directory: plan.directory, baseOffset: first.baseOffset)
        }
        var isChanged = sources.count > 1
        for source in sources {
            var reader = try reader(of: source)
            while let changesBatch = try unsafe reader.next({ (header, batch) throws(LogError) in
                try checkStopping()
                return try unsafe copy(header, batch: batch, to: &writer)
            }) {
                isChanged = isChanged || changesBatch
            }
        }
        return try convertingDiskErrors { () throws(DiskError) in
            guard isChanged else {
                try disk.removeFile(at: cleanedPath)
                return nil
            }
            let summary = try writer.finish(at: last.endOffset)
            let swapPath = SwapFile.path(in: plan.directory, from: first.baseOffset, to: last.endOffset)
            createdFiles.append(swapPath)
            try disk.rename(cleanedPath, to: swapPath)
            try disk.syncDirectory(at: plan.directory)
            return CompactionResult.Group(sources: sources, swapPath: swapPath, summary: summary)
        }
    }

    /// Writes the records of a batch that stay. Returns whether the new batch differs from the old one.
    private mutating func copy(
        _ header: BatchHeader, batch: UnsafeRawBufferPointer, to writer: inout SegmentWriter
    ) throws(LogError) -> Bool {
        let filtered = try unsafe filter.filter(header, batch: batch, keys: keys, mappedUpTo: mappedUpTo)
        try convertingDiskErrors { () throws(DiskError) in
            switch filtered {
            case .whole: try unsafe writer.append(header, batch: batch)
            case .rewritten(let bytes):
                try unsafe bytes.withBytes { (batch) throws(DiskError) in
                    try unsafe writer.append(BatchHeader(parsing: batch), batch: batch)
                }
            case .onlyProducer(let empty): try writer.append(empty: empty)
            case .nothing: break
            }
        }
        switch filtered {
        case .whole: return false
        case .rewritten: return true
        // An earlier pass may have emptied the batch already.
        case .onlyProducer: return header.recordCount > 0
        // The writer fills the gap with an empty batch without a producer. The old batch may have been equal to it.
        case .nothing: return header.recordCount > 0 || header.hasProducer
        }
    }

    // MARK: Errors

    private func checkStopping() throws(LogError) {
        if isStopping() { throw .closed("the broker is stopping") }
    }

    private func convertingDiskErrors<Result>(in body: () throws(DiskError) -> Result) throws(LogError)
        -> Result
    {
        do throws(DiskError) {
            return try body()
        } catch {
            throw .disk(error)
        }
    }
}
