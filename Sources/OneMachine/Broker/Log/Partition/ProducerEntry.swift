/// The state of one producer id in a log: its epoch and its last batches.
struct ProducerEntry: Equatable {
    /// A batch that was appended.
    struct Batch: Equatable {
        var firstSequence: Int32
        var lastSequence: Int32
        var baseOffset: Int64
        var lastOffset: Int64
        var timestamp: Int64
    }

    /// A client has at most five requests under way, so a duplicate is one of the last five.
    static let batchesMax = 5

    var epoch: Int16
    /// Time of the last append, in milliseconds since 1970. Idle producers are forgotten.
    var lastUsed: Int64
    /// The last batches, the newest last; empty after a marker of a newer epoch.
    var batches: [Batch] = []

    /// Returns the stored batch that has the same sequences as a new one, or nil.
    func duplicate(of header: BatchHeader) -> Batch? {
        guard header.producerEpoch == epoch else { return nil }
        return batches.last {
            $0.firstSequence == header.baseSequence && $0.lastSequence == header.lastSequence
        }
    }

    /// Uses `now` and not the records' timestamps, because a producer of old records is not idle.
    mutating func recordAppend(_ header: BatchHeader, now: Int64) {
        if epoch != header.producerEpoch {
            epoch = header.producerEpoch
            batches = []
        }
        lastUsed = max(lastUsed, now)
        if batches.count == Self.batchesMax { batches.removeFirst() }
        batches.append(
            Batch(
                firstSequence: header.baseSequence, lastSequence: header.lastSequence,
                baseOffset: header.baseOffset, lastOffset: header.lastOffset, timestamp: header.maxTimestamp))
    }
}
