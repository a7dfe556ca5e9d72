internal import JSON
internal import Kafka
internal import LiveActivity

/// Reads `receipts` of lanes from an offset to where they end when it is asked. Pinned to its loop.
final class ReceiptsReader {
    /// How long the question for an end may take.
    private static let askMilliseconds = 5_000

    private let consumer: Consumer
    private let topic: String
    private let reader = JSONReader()
    private var batch = RecordBatch(recordsMax: 1_000, bytesMax: 4 << 20)
    private var reading = ReceiptsReading()

    init(_ consumer: Consumer, topic: String) {
        self.consumer = consumer
        self.topic = topic
    }

    var descriptor: Int32 { consumer.descriptor }

    func read(lane: Int32, from offset: Int64) { reading.ask(lane, from: offset) }

    /// Forgets what was asked: the lanes are not ours any more.
    func stop() {
        reading.stop()
        try? consumer.release()
    }

    /// True when there may be more at once.
    func poll(_ found: (Receipt, Int32) -> Void, end: (Int32, Int64) -> Void) throws -> Bool {
        let wasIdle = reading.isIdle
        try begin()
        // Also when nothing is asked for: what came too late would keep the descriptor readable, and the loop awake.
        let events = consumer.poll(into: &batch)
        for index in 0..<batch.count {
            let lane = batch[index].partition
            guard reading.take(lane, at: batch[index].offset) else { continue }
            if let bytes = [UInt8](copying: batch[index].value),
                let receipt = try? Receipt.decode(bytes, with: reader)
            {
                found(receipt, lane)
            }
        }
        let isFull = batch.isFull
        batch.clear()
        for event in events {
            switch event {
            case .end(let partition, let offset): reading.reachedEnd(partition.partition, at: offset)
            case .failed(.rebuild(let error)): throw error
            case .failed, .offered, .revoked, .lost, .suspended, .committed: break
            }
        }
        let ended = reading.takeEnded()
        // Otherwise it would go on, and fetch what this sender writes.
        if !wasIdle, reading.isIdle { try consumer.release() }
        for stretch in ended { end(stretch.lane, stretch.offset) }
        return isFull
    }

    /// The assignment is made anew with each lane that is added, from where the others are.
    private func begin() throws {
        let lanes = reading.lanesWithoutEnd
        if lanes.isEmpty { return }
        for lane in lanes {
            let marks = try consumer.watermarks(
                of: TopicPartition(topic, lane), withinMilliseconds: Self.askMilliseconds)
            reading.begin(lane, low: marks.low, high: marks.high)
        }
        try consumer.assign(
            reading.starts.map { PartitionStart(TopicPartition(topic, $0.lane), .offset($0.offset)) })
    }

    func close() { _ = consumer.close() }
}
