/// The state of a log at one position, kept in a file. After a crash, the broker reads only the batches
/// behind that position. All bytes in front of it were on the disk before the checkpoint was written.
struct Checkpoint: Equatable {
    static let format: Int32 = 1
    static let fileName = "checkpoint"

    var logStartOffset: Int64
    /// The first offset of the segment that was active.
    var segmentBaseOffset: Int64
    /// The position in that segment's file.
    var position: Int
    /// The offset of the next batch at that position.
    var nextOffset: Int64

    // The values of that segment, as the fields of `Segment`.

    var maxTimestamp: Int64
    var firstAppendedAt: Int64?
    var index: SegmentIndex

    // The state of the log.

    var producers: Producers
    var compactionProgress: CompactionProgress

    func encoded() -> [UInt8] {
        SealedFile.seal(format: Self.format) { writer in
            writer.int64(logStartOffset)
            writer.int64(segmentBaseOffset)
            writer.int64(Int64(position))
            writer.int64(nextOffset)
            writer.int64(maxTimestamp)
            writer.int64(firstAppendedAt ?? -1)
            index.write(to: &writer)
            producers.write(to: &writer)
            compactionProgress.write(to: &writer)
        }
    }

    init?(decoding bytes: [UInt8]) {
        let checkpoint = SealedFile.unseal(bytes, format: Self.format) { (reader) throws(WireError) in
            try Checkpoint(from: &reader)
        }
        guard let checkpoint else { return nil }
        self = checkpoint
    }

    /// Whether no batch follows the checkpoint in the active segment.
    func isEnd(of active: Segment) -> Bool {
        segmentBaseOffset == active.baseOffset && position == active.size && nextOffset == active.endOffset
    }

    /// Gives the checkpoint's segment the values that it had when the checkpoint was taken.
    func apply(to segment: Segment) {
        segment.index = index
        segment.size = position
        segment.endOffset = nextOffset
        segment.maxTimestamp = maxTimestamp
        segment.firstAppendedAt = firstAppendedAt
    }

    private init(from reader: inout WireReader) throws(WireError) {
        logStartOffset = try reader.int64()
        segmentBaseOffset = try reader.int64()
        position = Int(try reader.int64())
        nextOffset = try reader.int64()
        maxTimestamp = try reader.int64()
        let milliseconds = try reader.int64()
        firstAppendedAt = milliseconds < 0 ? nil : milliseconds
        index = try SegmentIndex(from: &reader)
        producers = try Producers(from: &reader)
        compactionProgress = try CompactionProgress(from: &reader)
    }

    init(
        logStartOffset: Int64, active: Segment, producers: Producers,
        compactionProgress: CompactionProgress
    ) {
        self.logStartOffset = logStartOffset
        self.segmentBaseOffset = active.baseOffset
        self.position = active.size
        self.nextOffset = active.endOffset
        self.maxTimestamp = active.maxTimestamp
        self.firstAppendedAt = active.firstAppendedAt
        self.index = active.index ?? SegmentIndex()
        self.producers = producers
        self.compactionProgress = compactionProgress
    }
}
