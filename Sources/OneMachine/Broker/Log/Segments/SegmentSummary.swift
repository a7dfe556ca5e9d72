/// The content of the file `.index` beside a closed segment, so that a start need not read the segment.
/// A reader ignores it if the segment has another size or end offset, and makes it again.
struct SegmentSummary: Sendable {
    static let format: Int32 = 1

    // The fields of `Segment`.

    var size: Int
    var endOffset: Int64
    var maxTimestamp: Int64
    var firstAppendedAt: Int64?
    var index: SegmentIndex

    init(_ segment: Segment, index: SegmentIndex) {
        size = segment.size
        endOffset = segment.endOffset
        maxTimestamp = segment.maxTimestamp
        firstAppendedAt = segment.firstAppendedAt
        self.index = index
    }

    func encoded() -> [UInt8] {
        SealedFile.seal(format: Self.format) { writer in
            writer.int64(Int64(size))
            writer.int64(endOffset)
            writer.int64(maxTimestamp)
            writer.int64(firstAppendedAt ?? -1)
            index.write(to: &writer)
        }
    }

    init?(decoding bytes: [UInt8]) {
        let summary = SealedFile.unseal(bytes, format: Self.format) { (reader) throws(WireError) in
            try SegmentSummary(from: &reader)
        }
        guard let summary else { return nil }
        self = summary
    }

    private init(from reader: inout WireReader) throws(WireError) {
        size = Int(try reader.int64())
        endOffset = try reader.int64()
        maxTimestamp = try reader.int64()
        let milliseconds = try reader.int64()
        firstAppendedAt = milliseconds < 0 ? nil : milliseconds
        index = try SegmentIndex(from: &reader)
    }

    /// Gives the segment the values of the summary, except for the index, which is read when it is first
    /// needed.
    func apply(to segment: Segment) {
        segment.size = size
        segment.endOffset = endOffset
        segment.maxTimestamp = maxTimestamp
        segment.firstAppendedAt = firstAppendedAt
    }
}

extension SegmentIndex {
    func write(to writer: inout WireWriter) {
        writer.array(entries) { writer, entry in
            writer.uint32(entry.relativeOffset)
            writer.uint32(entry.position)
            writer.int64(entry.maxTimestampBefore)
        }
    }

    init(from reader: inout WireReader) throws(WireError) {
        self.init(
            entries: try reader.array { (reader) throws(WireError) in
                Entry(
                    relativeOffset: try reader.uint32(), position: try reader.uint32(),
                    maxTimestampBefore: try reader.int64())
            })
    }
}
