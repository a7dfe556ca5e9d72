package import Kafka

/// The records of one partition and topic in a batch. Each transaction takes as many of them as it can hold, in their
/// order.
package struct BatchPart {
    package let partition: Int32
    /// The index of the topic in the subscription.
    package let topic: Int
    /// The indices of the records in the batch, in their order.
    package private(set) var indices: [Int] = []
    /// The number of records that transactions have taken.
    package private(set) var takenCount = 0

    private init(partition: Int32, topic: Int) {
        self.partition = partition
        self.topic = topic
    }

    /// Whether all records are taken.
    package var isTaken: Bool { takenCount == indices.count }

    /// The index of the next record in the batch.
    package var nextIndex: Int { indices[takenCount] }

    package mutating func markNextTaken() { takenCount += 1 }

    /// Returns the offset after the last record that was taken. At least one was.
    package func endOffset(in batch: borrowing RecordBatch) -> Int64 {
        batch[indices[takenCount - 1]].offset + 1
    }

    /// Returns the offsets of all records.
    package func offsets(in batch: borrowing RecordBatch) -> [Int64] {
        var offsets: [Int64] = []
        for index in indices { offsets.append(batch[index].offset) }
        return offsets
    }

    /// Returns the parts of a batch, in the order in which they first come. Records of partitions that are not served
    /// are left out: they are read again when the partition is served.
    ///
    /// - Parameter isServing: whether the records of a partition may be decided.
    static func parts(of batch: borrowing RecordBatch, serving isServing: (Int32) -> Bool) -> [BatchPart] {
        var parts: [BatchPart] = []
        // Records of one partition usually follow one another, so the part of the last record and the state
        // of its partition are kept.
        var lastPart = 0
        var lastPartition: (number: Int32, isServing: Bool)?
        for index in 0..<batch.count {
            let (partition, topic) = (batch[index].partition, batch[index].topic)
            if lastPartition?.number != partition { lastPartition = (partition, isServing(partition)) }
            if lastPartition?.isServing == false { continue }
            let isLastPart =
                lastPart < parts.count && parts[lastPart].partition == partition
                && parts[lastPart].topic == topic
            if !isLastPart {
                lastPart =
                    parts.firstIndex { $0.partition == partition && $0.topic == topic } ?? parts.count
                if lastPart == parts.count { parts.append(BatchPart(partition: partition, topic: topic)) }
            }
            parts[lastPart].indices.append(index)
        }
        return parts
    }
}
