extension PartitionLog {
    func openFiles(of segments: [Segment]) throws(DiskError) -> [OpenFile] {
        var files: [OpenFile] = []
        for segment in segments { files.append(try segment.openFile(with: environment.openSegments)) }
        return files
    }

    func fileSize(of segment: Segment) throws(LogError) -> Int {
        do throws(DiskError) {
            return try environment.disk.size(of: segment.openFile(with: environment.openSegments))
        } catch {
            throw .disk(error)
        }
    }

    /// Returns a reader of the segment that begins at an entry of its index, or at the first batch for nil.
    func reader(
        of segment: Segment, from entry: SegmentIndex.Entry?, end: Int
    ) throws(LogError) -> SegmentReader {
        try reader(
            of: segment, position: Int(entry?.position ?? 0),
            offset: segment.baseOffset + Int64(entry?.relativeOffset ?? 0), end: end)
    }

    /// Returns a reader of the segment that begins at `position`, where the batch with `offset` lies. The
    /// batches end at `end`.
    func reader(
        of segment: Segment, position: Int, offset: Int64, end: Int
    ) throws(LogError) -> SegmentReader {
        do throws(DiskError) {
            let file = try segment.openFile(with: environment.openSegments)
            return SegmentReader(
                disk: environment.disk, file: file, position: position, offset: offset, end: end)
        } catch {
            throw .disk(error)
        }
    }
}
