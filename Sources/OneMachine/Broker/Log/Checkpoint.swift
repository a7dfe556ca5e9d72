/// The state of a log at one position. After a crash, the broker reads only the batches behind it.
/// Everything below `position` of `segment` was on the disk before the checkpoint was written.
struct Checkpoint: Equatable {
    static let format: Int32 = 1
    static let fileName = "checkpoint"

    var logStartOffset: Int64
    var segment: Int64
    var position: Int
    var offset: Int64
    /// The segment's values at that time.
    var maxTimestamp: Int64
    var firstAppended: Int64
    var index: SegmentIndex
    var producers: Producers
    var cleaned: CompactionProgress

    func encoded() -> [UInt8] {
        SealedFile.seal(format: Self.format) { writer in
            writer.int64(logStartOffset)
            writer.int64(segment)
            writer.int64(Int64(position))
            writer.int64(offset)
            writer.int64(maxTimestamp)
            writer.int64(firstAppended)
            index.write(to: &writer)
            producers.write(to: &writer)
            cleaned.write(to: &writer)
        }
    }

    init?(decoding bytes: [UInt8]) {
        let read = SealedFile.unseal(bytes, format: Self.format) { (reader) throws(WireError) in
            try Checkpoint(from: &reader)
        }
        guard let read else { return nil }
        self = read
    }

    /// Whether no batch follows the checkpoint.
    func isEnd(of active: Segment) -> Bool {
        segment == active.baseOffset && position == active.size && offset == active.endOffset
    }

    private init(from reader: inout WireReader) throws(WireError) {
        logStartOffset = try reader.int64()
        segment = try reader.int64()
        position = Int(try reader.int64())
        offset = try reader.int64()
        maxTimestamp = try reader.int64()
        firstAppended = try reader.int64()
        index = try SegmentIndex(from: &reader)
        producers = try Producers(from: &reader)
        cleaned = try CompactionProgress(from: &reader)
    }

    init(
        logStartOffset: Int64, active: Segment, producers: Producers, cleaned: CompactionProgress
    ) {
        self.logStartOffset = logStartOffset
        self.segment = active.baseOffset
        self.position = active.size
        self.offset = active.endOffset
        self.maxTimestamp = active.maxTimestamp
        self.firstAppended = active.firstAppended ?? -1
        self.index = active.index ?? SegmentIndex()
        self.producers = producers
        self.cleaned = cleaned
    }
}

extension Producers {
    func write(to writer: inout WireWriter) {
        writer.array(entries) { writer, pair in
            writer.int64(pair.key)
            writer.int16(pair.value.epoch)
            writer.int64(pair.value.lastUsed)
            writer.array(pair.value.batches) { writer, batch in
                writer.int32(batch.firstSequence)
                writer.int32(batch.lastSequence)
                writer.int64(batch.baseOffset)
                writer.int64(batch.lastOffset)
                writer.int64(batch.timestamp)
            }
        }
        writer.array(open) { writer, pair in
            writer.int64(pair.key)
            writer.int64(pair.value)
        }
        writer.array(aborted) { writer, each in
            writer.int64(each.producerID)
            writer.int64(each.firstOffset)
            writer.int64(each.lastOffset)
            writer.int64(each.stableOffset)
        }
    }

    init(from reader: inout WireReader) throws(WireError) {
        let pairs = try reader.array { (reader) throws(WireError) in
            (
                try reader.int64(),
                ProducerEntry(
                    epoch: try reader.int16(), lastUsed: try reader.int64(),
                    batches: try reader.array { (reader) throws(WireError) in
                        .init(
                            firstSequence: try reader.int32(), lastSequence: try reader.int32(),
                            baseOffset: try reader.int64(), lastOffset: try reader.int64(),
                            timestamp: try reader.int64())
                    })
            )
        }
        entries = Dictionary(pairs) { _, new in new }
        let starts = try reader.array { (reader) throws(WireError) in (try reader.int64(), try reader.int64())
        }
        open = Dictionary(starts) { _, new in new }
        aborted = try reader.array { (reader) throws(WireError) in
            AbortedRange(
                producerID: try reader.int64(), firstOffset: try reader.int64(),
                lastOffset: try reader.int64(), stableOffset: try reader.int64())
        }
    }
}
