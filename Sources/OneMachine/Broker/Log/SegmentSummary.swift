/// The content of the file beside a closed segment, so that a start need not read the segment. It counts
/// only if it fits the segment's size; otherwise it is made again.
struct SegmentSummary: Sendable {
    static let format: Int32 = 1

    var size: Int
    var endOffset: Int64
    var maxTimestamp: Int64
    var firstAppended: Int64
    var index: SegmentIndex

    init(_ segment: Segment, index: SegmentIndex) {
        size = segment.size
        endOffset = segment.endOffset
        maxTimestamp = segment.maxTimestamp
        firstAppended = segment.firstAppended ?? -1
        self.index = index
    }

    func encoded() -> [UInt8] {
        SealedFile.seal(format: Self.format) { writer in
            writer.int64(Int64(size))
            writer.int64(endOffset)
            writer.int64(maxTimestamp)
            writer.int64(firstAppended)
            index.write(to: &writer)
        }
    }

    init?(decoding bytes: [UInt8]) {
        let read = SealedFile.unseal(bytes, format: Self.format) { (reader) throws(WireError) in
            (
                try reader.int64(), try reader.int64(), try reader.int64(), try reader.int64(),
                try SegmentIndex(from: &reader)
            )
        }
        guard let read else { return nil }
        size = Int(read.0)
        endOffset = read.1
        maxTimestamp = read.2
        firstAppended = read.3
        index = read.4
    }

    /// Gives the segment the values of the summary, except for the index.
    func apply(to segment: Segment) {
        segment.size = size
        segment.endOffset = endOffset
        segment.maxTimestamp = maxTimestamp
        segment.firstAppended = firstAppended < 0 ? nil : firstAppended
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
