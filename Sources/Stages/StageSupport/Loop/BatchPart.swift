package import Kafka

/// The records of one partition and topic in a batch. Each transaction takes as many of them as it can hold.
package struct BatchPart {
    package let partition: Int32
    /// The index of the topic in the subscription.
    package let topic: Int
    /// The places of the records in the batch, in their order.
    package private(set) var indices: [Int] = []
    /// The number of records that are in a transaction.
    package private(set) var takenCount = 0

    private init(partition: Int32, topic: Int) {
        self.partition = partition
        self.topic = topic
    }

    package var isTaken: Bool { takenCount == indices.count }

    /// The place of the next record.
    package var nextIndex: Int { indices[takenCount] }

    package mutating func markNextTaken() { takenCount += 1 }

    /// Returns the offset after the last record that was taken.
    package func endOffset(in batch: borrowing RecordBatch) -> Int64 {
        batch[indices[takenCount - 1]].offset + 1
    }

    package func offsets(in batch: borrowing RecordBatch) -> [Int64] {
        var offsets: [Int64] = []
        for index in indices { offsets.append(batch[index].offset) }
        return offsets
    }

    /// Returns the parts of a batch, in the order in which they first come. Records of a partition that does not flow are
    /// left out: they are read again when it does.
    ///
    /// - Parameter serves: whether the records of a partition flow.
    static func parts(of batch: borrowing RecordBatch, serving serves: (Int32) -> Bool) -> [BatchPart] {
        var parts: [BatchPart] = []
        var last = 0
        var judged: (partition: Int32, serves: Bool)?
        for index in 0..<batch.count {
            let (partition, topic) = (batch[index].partition, batch[index].topic)
            if judged?.partition != partition { judged = (partition, serves(partition)) }
            if judged?.serves == false { continue }
            if last >= parts.count || parts[last].partition != partition || parts[last].topic != topic {
                last = parts.firstIndex { $0.partition == partition && $0.topic == topic } ?? parts.count
                if last == parts.count { parts.append(BatchPart(partition: partition, topic: topic)) }
            }
            parts[last].indices.append(index)
        }
        return parts
    }
}
