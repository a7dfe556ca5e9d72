extension PartitionLog {
    /// Writes every damaged closed segment anew, with an empty batch in the place of each damaged range.
    /// The damaged file stays beside it under another name. Returns the ranges.
    ///
    /// The checkpoint on the disk must point behind the segment: an older one holds positions in the
    /// damaged file.
    func replaceDamage() throws(LogError) -> [DamagedRange] {
        var replaced: [DamagedRange] = []
        for segment in segments.dropLast() {
            let ranges = try findDamage(in: segment)
            guard !ranges.isEmpty else { continue }
            guard !checkpoints.canPoint(into: segment) else { throw .closed("its checkpoint is not written") }
            try rewrite(segment)
            replaced += ranges
        }
        return replaced
    }

    /// Writes the sound batches to a new file and exchanges it, by the same steps as a compaction.
    private func rewrite(_ segment: Segment) throws(LogError) {
        let disk = environment.disk
        let cleanedPath = Segment.path(in: directory, from: segment.baseOffset, suffix: "cleaned")
        let swapPath = SwapFile.path(in: directory, from: segment.baseOffset, to: segment.endOffset)
        var reader = try reader(of: segment, position: 0, offset: segment.baseOffset, end: segment.size)
        let source = CompactionPlan.Source(
            path: segment.path, baseOffset: segment.baseOffset, endOffset: segment.endOffset,
            size: segment.size, isDamaged: true)
        var writer: SegmentWriter
        do throws(DiskError) {
            writer = try SegmentWriter(
                disk: disk, path: cleanedPath, directory: directory, baseOffset: segment.baseOffset)
        } catch {
            throw .disk(error)
        }
        while try unsafe reader.nextSkippingDamage({ (header, batch) throws(LogError) in
            try unsafe Self.copy(header, batch: batch, to: &writer)
        }) != nil {}
        do throws(DiskError) {
            let summary = try writer.finish(at: segment.endOffset)
            let setAsidePath = SetAsideFile.damaged.path(for: segment, among: try disk.names(in: directory))
            try disk.link(segment.path, to: setAsidePath)
            setAsideFileCount += 1
            try disk.rename(cleanedPath, to: swapPath)
            try disk.syncDirectory(at: directory)
            try exchangeFiles(of: .init(sources: [source], swapPath: swapPath, summary: summary))
            try disk.syncDirectory(at: directory)
        } catch {
            throw .disk(error)
        }
        readPositions.removeAll()
    }

    private static func copy(
        _ header: BatchHeader, batch: UnsafeRawBufferPointer, to writer: inout SegmentWriter
    ) throws(LogError) {
        do throws(DiskError) {
            try unsafe writer.append(header, batch: batch)
        } catch {
            throw .disk(error)
        }
    }
}

extension TopicStore {
    /// Replaces the damaged ranges of all logs by empty batches, and closes the store, which must
    /// have no clients. After a crash at any step a start finds each segment as it was or repaired.
    package func replaceDamage() throws(TopicStoreError) -> [DamagedRange] {
        var replaced: [DamagedRange] = []
        do throws(LogError) {
            for log in topics.flatMap(\.partitions) {
                if try !log.findDamage(in: log.activeSegment).isEmpty { try log.roll() }
                log.checkpoints.requestCheckpoint()
                log.requestFlush()
                while flusher.runOnce() { deliver(now: environment.clock()) }
                replaced += try log.replaceDamage()
            }
        } catch {
            throw .log(error)
        }
        try close()
        return replaced
    }
}
