/// A writer for the file of a compacted segment. It fills the gaps between batches with empty batches. So
/// each batch has exactly one right offset, and a flipped bit in an offset is noticed.
struct SegmentWriter {
    /// Size of one write, unless a batch is larger.
    static let chunkBytes = 1 << 20

    private let disk: Disk
    private let file: OpenFile
    /// The segment that is written, with its index. Its size includes the buffer.
    let segment: Segment
    private var buffer: [UInt8] = []
    /// Number of bytes in the file.
    private var writtenCount = 0

    init(disk: Disk, path: String, directory: String, baseOffset: Int64) throws(DiskError) {
        self.disk = disk
        try disk.removeFile(at: path)
        file = try disk.open(path: path, create: true, writable: true)
        segment = Segment(baseOffset: baseOffset, directory: directory)
        segment.index = SegmentIndex()
    }

    /// Appends a batch, behind an empty one if it does not follow the last batch directly.
    mutating func append(_ header: BatchHeader, batch: UnsafeRawBufferPointer) throws(DiskError) {
        try fill(to: header.baseOffset)
        try unsafe addToBuffer(header, batch: batch)
    }

    /// Writes an empty batch for the offsets below `offset`.
    mutating func fill(to offset: Int64) throws(DiskError) {
        guard segment.endOffset < offset else { return }
        var header = BatchHeader(baseOffset: segment.endOffset)
        header.lastOffsetDelta = Int32(offset - segment.endOffset - 1)
        try append(empty: header)
    }

    /// Writes a batch without records that has this header's offsets and producer.
    mutating func append(empty header: BatchHeader) throws(DiskError) {
        let batch = BatchBuilder.assemble(header: header, body: [])
        try unsafe batch.withBytes { (bytes) throws(DiskError) in
            let header = unsafe BatchHeader(parsing: bytes)
            try unsafe append(header, batch: bytes)
        }
    }

    private mutating func addToBuffer(_ header: BatchHeader, batch: UnsafeRawBufferPointer) throws(DiskError)
    {
        unsafe buffer.append(contentsOf: batch[..<header.totalSize])
        segment.recordAppend(header, now: header.maxTimestamp)
        if buffer.count >= Self.chunkBytes { try flush() }
    }

    private mutating func flush() throws(DiskError) {
        try disk.write(buffer, to: file, at: writtenCount)
        writtenCount += buffer.count
        buffer.removeAll(keepingCapacity: true)
    }

    /// Finishes the file, whose offsets end at `endOffset`. Its bytes are on the disk when this returns.
    mutating func finish(at endOffset: Int64) throws(DiskError) -> SegmentSummary {
        try fill(to: endOffset)
        try flush()
        try disk.sync(file)
        return SegmentSummary(segment, index: segment.index ?? SegmentIndex())
    }
}
