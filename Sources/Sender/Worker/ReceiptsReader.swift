internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Telemetry

/// Reads `receipts` of lanes from an offset to where they end when it is asked. Pinned to its loop.
///
/// A lane waits as long as the cluster does not say where its receipts end, and longer than that nothing does.
final class ReceiptsReader {
    /// How long the question for an end may hold up a turn.
    private static let askMilliseconds = 2_000
    /// Where it was not answered, or receipts are gone, so much lies between one question and the next.
    private static let againMilliseconds = 5_000

    private let consumer: Consumer
    private let topic: String
    private let log: Log
    private let reader = JSONReader()
    private var batch = RecordBatch(recordsMax: 1_000, bytesMax: 4 << 20)
    private var reading = ReceiptsReading()
    private var nextQuestion = Instant(nanoseconds: 0)

    init(_ consumer: Consumer, topic: String, log: Log) {
        self.consumer = consumer
        self.topic = topic
        self.log = log
    }

    var descriptor: Int32 { consumer.descriptor }

    func read(lane: Int32, from offset: Int64) { reading.ask(lane, from: offset) }

    /// Forgets what was asked: the lanes are not ours any more.
    func stop() {
        reading.stop()
        try? consumer.release()
    }

    /// True when there may be more at once.
    func poll(
        at now: Instant, _ found: (Receipt, Int32) -> Void, end: (Int32, Int64) -> Void
    ) throws -> Bool {
        let wasIdle = reading.isIdle
        try begin(at: now)
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
        for event in events { try hear(event, at: now) }
        let ended = reading.takeEnded()
        // Otherwise it would go on, and fetch what this sender writes.
        if !wasIdle, reading.isIdle { try consumer.release() }
        for stretch in ended { end(stretch.lane, stretch.offset) }
        return isFull
    }

    private func hear(_ event: ConsumerEvent, at now: Instant) throws {
        switch event {
        case .end(let partition, let offset): reading.reachedEnd(partition.partition, at: offset)
        case .failed(.outOfRange(let partition, _)):
            guard reading.isGone(partition.partition) else { return }
            nextQuestion = now.advanced(byMilliseconds: Self.againMilliseconds)
            log.warning(
                "receipts were deleted before they were read; pushes that they tell of may be made again",
                .field("partition", partition.description))
        case .failed(.partition(_, let error)), .failed(.client(let error)):
            log.warning("receipts cannot be read now", .field("error", error))
        case .failed(.rebuild(let error)): throw error
        case .offered, .revoked, .lost, .suspended, .committed, .answered: break
        }
    }

    /// The assignment is made anew with each lane that is added, from where the others are.
    private func begin(at now: Instant) throws {
        let lanes = reading.lanesWithoutEnd
        guard !lanes.isEmpty, now >= nextQuestion else { return }
        var isNew = false
        for lane in lanes {
            let partition = TopicPartition(topic, lane)
            do throws(KafkaError) {
                let marks = try consumer.watermarks(of: partition, withinMilliseconds: Self.askMilliseconds)
                reading.begin(lane, low: marks.low, high: marks.high)
                isNew = true
            } catch {
                if error.code.isAccessRefused { throw error }
                reading.isSilent(lane)
                nextQuestion = now.advanced(byMilliseconds: Self.againMilliseconds)
                log.warning(
                    "the end of receipts cannot be asked for now; a lane waits for it",
                    .field("partition", partition.description), .field("error", error))
                break
            }
        }
        guard isNew else { return }
        try consumer.assign(
            reading.starts.map { PartitionStart(TopicPartition(topic, $0.lane), .offset($0.offset)) })
    }

    func close() { _ = consumer.close() }
}
