/// The compaction of one log's closed segments, on a worker thread. It keeps the newest record of every
/// key, drops aborted records, and drops tombstones and markers after their grace time.
///
/// It reads the old files and writes new ones beside them; only the last step, on the loop thread,
/// exchanges them. It must never change records at or above the first offset that it has not mapped.
struct CompactionPass {
    private let plan: CompactionPlan
    private let disk: Disk
    /// Checked for each batch, so that a stopping broker does not wait for a pass.
    private let isStopping: () -> Bool
    private var keys = KeyMap()
    /// The pass has not read the keys from this offset on, so those records stay.
    private var mappedUpTo: Int64
    private var filter: CompactionFilter
    /// Every file that this pass has made. If the pass fails, all must go: otherwise a later start would
    /// put a finished group over segments that have changed since then.
    private var createdFiles: [String] = []

    init(plan: CompactionPlan, disk: Disk, isStopping: @escaping () -> Bool) {
        self.isStopping = isStopping
        self.plan = plan
        self.disk = disk
        mappedUpTo = plan.firstDirty
        filter = CompactionFilter(plan: plan)
    }

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
        do throws(DiskError) {
            let file = try disk.open(path: source.path, writable: false)
            return SegmentReader(
                disk: disk, file: file, position: 0, offset: source.baseOffset, end: source.size)
        } catch {
            throw .disk(error)
        }
    }

    /// Notes the newest offset of each key in the part that no pass has compacted.
    private mutating func mapKeys() throws(LogError) {
        for source in plan.sources where source.endOffset > plan.firstDirty {
            var reader = try reader(of: source)
            while true {
                if keys.count >= plan.keysMax { return }
                try checkStopping()
                let isBatch = try unsafe read(&reader, of: source) { (header, batch) throws(LogError) in
                    if header.nextOffset > plan.firstDirty, !header.isControl, !filter.isAborted(header) {
                        try unsafe mapKeys(of: header, batch: batch)
                    }
                    return true
                }
                if isBatch == nil { break }
                mappedUpTo = max(mappedUpTo, reader.offset)
            }
            mappedUpTo = max(mappedUpTo, source.endOffset)
        }
    }

    private func read(
        _ reader: inout SegmentReader, of source: CompactionPlan.Source,
        body: (BatchHeader, UnsafeRawBufferPointer) throws(LogError) -> Bool
    ) throws(LogError) -> Bool? {
        source.isDamaged ? try unsafe reader.nextSkippingDamage(body) : try unsafe reader.next(body)
    }

    private mutating func mapKeys(of header: BatchHeader, batch: UnsafeRawBufferPointer) throws(LogError) {
        let plain = try unsafe header.decompressedRecords(of: batch)
        try unsafe plain.withBytes { (raw) throws(LogError) in
            var reader = unsafe RecordReader(raw, count: Int(header.recordCount))
            while let record = try reader.next() {
                guard let key = record.key else { continue }
                unsafe keys.record(
                    UnsafeRawBufferPointer(rebasing: raw[key]), at: try header.offset(of: record))
            }
        }
    }

    /// Writes neighboring segments as one if they fit into one.
    private mutating func rewrite() throws(LogError) -> [CompactionResult.Group] {
        var groups: [CompactionResult.Group] = []
        var sources: [CompactionPlan.Source] = []
        var size = 0
        for source in plan.sources where source.baseOffset < mappedUpTo {
            let isWide = sources.first.map { source.endOffset - $0.baseOffset > Int64(Int32.max) } ?? false
            if size + source.size > plan.segmentBytes || isWide || source.isDamaged {
                if let group = try writeGroup(sources) { groups.append(group) }
                sources = []
                size = 0
            }
            guard !source.isDamaged else { continue }
            sources.append(source)
            size += source.size
        }
        if let group = try writeGroup(sources) { groups.append(group) }
        return groups
    }

    /// Writes one group. Returns nil if nothing would change.
    private mutating func writeGroup(_ sources: [CompactionPlan.Source]) throws(LogError) -> CompactionResult
        .Group?
    {
        guard let first = sources.first, let last = sources.last else { return nil }
        let path = Segment.path(in: plan.directory, from: first.baseOffset, suffix: "cleaned")
        createdFiles.append(path)
        var writer = try convertingDiskErrors { () throws(DiskError) in
            try SegmentWriter(disk: disk, path: path, directory: plan.directory, baseOffset: first.baseOffset)
        }
        var isChanged = sources.count > 1
        for source in sources {
            var reader = try reader(of: source)
            while let changed = try unsafe reader.next({ (header, batch) throws(LogError) in
                try checkStopping()
                return try unsafe copy(header, batch: batch, to: &writer)
            }) {
                isChanged = isChanged || changed
            }
        }
        return try convertingDiskErrors { () throws(DiskError) in
            guard isChanged else {
                try disk.removeFile(at: path)
                return nil
            }
            let summary = try writer.finish(at: last.endOffset)
            let swap = SwapFile.path(in: plan.directory, from: first.baseOffset, to: last.endOffset)
            createdFiles.append(swap)
            try disk.rename(path, to: swap)
            try disk.syncDirectory(at: plan.directory)
            return CompactionResult.Group(sources: sources, swapPath: swap, summary: summary)
        }
    }

    /// Writes the records of a batch that stay. Returns whether that changes the batch.
    private mutating func copy(
        _ header: BatchHeader, batch: UnsafeRawBufferPointer, to writer: inout SegmentWriter
    ) throws(LogError) -> Bool {
        let kept = try unsafe filter.filter(header, batch: batch, keys: keys, mappedUpTo: mappedUpTo)
        try convertingDiskErrors { () throws(DiskError) in
            switch kept {
            case .whole: try unsafe writer.append(header, batch: batch)
            case .rewritten(let bytes):
                try unsafe bytes.withBytes { (raw) throws(DiskError) in
                    try unsafe writer.append(BatchHeader(parsing: raw), batch: raw)
                }
            case .onlyProducer(let empty): try writer.append(empty: empty)
            case .nothing: break
            }
        }
        switch kept {
        case .whole: return false
        case .onlyProducer: return header.recordCount > 0
        case .rewritten: return true
        case .nothing: return header.recordCount > 0 || header.hasProducer
        }
    }

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
