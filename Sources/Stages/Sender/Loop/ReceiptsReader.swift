internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Telemetry

/// The reader of `receipts`. It reads lanes from an offset to the end at the time of the request. It is pinned to
/// its loop.
///
/// A lane waits until the cluster reports the end of its receipts. Nothing else waits for that.
final class ReceiptsReader {
    /// Pause before the next question, if an end was not answered or receipts were deleted.
    private static let againMilliseconds = 5_000

    private let consumer: Consumer
    private let topic: String
    private let log: Log
    private let reader = JSONReader()
    private var batch = RecordBatch(recordsMax: 1_000, bytesMax: 4 << 20)
    private var reading = ReceiptReadPlan()
    private var nextQuestion = Instant(nanoseconds: 0)
    /// The unanswered question.
    private var question: OffsetQueryID?
    /// The lanes for which its answer counts.
    private var askedLanes: Set<Int32> = []

    init(_ consumer: Consumer, topic: String, log: Log) {
        self.consumer = consumer
        self.topic = topic
        self.log = log
    }

    var descriptor: Int32 { consumer.descriptor }

    /// Begins to read a lane. An answer to an earlier question does not count for it, because its receipts may end
    /// later now.
    func read(lane: Int32, from offset: Int64) {
        reading.ask(lane: lane, from: offset)
        askedLanes.remove(lane)
    }

    /// Forgets all lanes, because they belong to other processes.
    func stop() {
        reading.forgetAll()
        askedLanes = []
        try? consumer.release()
    }

    /// Passes new receipts and ends on. Returns whether there may be more at once.
    func poll(
        at now: Instant, _ found: (Receipt, Int32) -> Void, end: (Int32, Int64) -> Void
    ) throws -> Bool {
        let wasIdle = reading.isIdle
        askForEnds(at: now)
        // It polls also if nothing is asked for. Late records would keep the descriptor readable, and the loop awake.
        let events = consumer.poll(into: &batch)
        for index in 0..<batch.count {
            let lane = batch[index].partition
            guard reading.accepts(lane: lane, at: batch[index].offset) else { continue }
            if let bytes = [UInt8](copying: batch[index].value),
                let receipt = try? Receipt.decode(bytes, with: reader)
            {
                found(receipt, lane)
            }
        }
        let isFull = batch.isFull
        batch.clear()
        for event in events { try handle(event, at: now) }
        let ended = reading.takeEnded()
        // Otherwise the consumer would go on, and fetch the receipts that this sender writes.
        if !wasIdle, reading.isIdle { try consumer.release() }
        for stretch in ended { end(stretch.lane, stretch.offset) }
        return isFull
    }

    private func handle(_ event: ConsumerEvent, at now: Instant) throws {
        switch event {
        case .reachedEnd(let partition, let offset): reading.reachedEnd(lane: partition.partition, at: offset)
        case .failed(.outOfRange(let partition, _)):
            guard reading.receiptsWereDeleted(lane: partition.partition) else { return }
            nextQuestion = now.advanced(byMilliseconds: Self.againMilliseconds)
            log.warning(
                "receipts were deleted before they were read; pushes that they tell of may be made again",
                .field("partition", partition.description))
        case .failed(.partition(_, let error)), .failed(.client(let error)):
            log.warning("receipts cannot be read now", .field("error", error))
        case .failed(.rebuild(let error)): throw error
        case .queryCompleted(let id, let answer) where id == question: try endsAnswered(answer, at: now)
        case .offered, .revoked, .lost, .suspended, .committed, .queryCompleted: break
        }
    }

    private func askForEnds(at now: Instant) {
        let lanes = reading.lanesWithoutEnd.filter { !askedLanes.contains($0) }
        guard !lanes.isEmpty, now >= nextQuestion else { return }
        // A question covers every lane without an end, so that one question waits for its answer at a time.
        askedLanes = Set(reading.lanesWithoutEnd)
        question = consumer.submit(.watermarks(askedLanes.map { TopicPartition(topic, $0) }))
    }

    private func endsAnswered(_ answer: OffsetQueryResult, at now: Instant) throws {
        switch answer {
        case .watermarks(let found):
            for (partition, ends) in found where askedLanes.remove(partition.partition) != nil {
                reading.begin(lane: partition.partition, low: ends.low, high: ends.high)
            }
            // The new assignment has the new lanes too, and the others continue at their positions.
            try consumer.assign(
                startingAt: reading.starts.map {
                    PartitionStart(partition: TopicPartition(topic, $0.lane), position: .offset($0.offset))
                })
        case .failed(let partitions, let error):
            if error.code.isAccessRefused { throw error }
            for partition in partitions { askedLanes.remove(partition.partition) }
            nextQuestion = now.advanced(byMilliseconds: Self.againMilliseconds)
            log.warning(
                "the end of receipts cannot be asked for now; lanes wait for it",
                .field("lanes", partitions.count), .field("error", error))
        case .committedOffsets, .firstRecords: break
        }
    }

    func close() { _ = consumer.close() }
}
