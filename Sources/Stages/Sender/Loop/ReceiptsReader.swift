internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Telemetry

/// Reads `receipts` of lanes from an offset to where they end when it is asked. Pinned to its loop.
///
/// A lane waits as long as the cluster does not say where its receipts end, and longer than that nothing does.
final class ReceiptsReader {
    /// The pause before the next question, if an end was not answered or receipts are gone.
    private static let againMilliseconds = 5_000

    private let consumer: Consumer
    private let topic: String
    private let log: Log
    private let reader = JSONReader()
    private var batch = RecordBatch(recordsMax: 1_000, bytesMax: 4 << 20)
    private var reading = ReceiptReadPlan()
    private var nextQuestion = Instant(nanoseconds: 0)
    /// The question that is out, and the lanes that its answers count for.
    private var question: QuestionID?
    private var askedLanes: Set<Int32> = []

    init(_ consumer: Consumer, topic: String, log: Log) {
        self.consumer = consumer
        self.topic = topic
        self.log = log
    }

    var descriptor: Int32 { consumer.descriptor }

    /// An answer to an earlier question does not count for the lane: its receipts may end later by now.
    func read(lane: Int32, from offset: Int64) {
        reading.ask(lane, from: offset)
        askedLanes.remove(lane)
    }

    /// Forgets all lanes, because they are not owned any more.
    func stop() {
        reading.forgetAll()
        askedLanes = []
        try? consumer.release()
    }

    /// True when there may be more at once.
    func poll(
        at now: Instant, _ found: (Receipt, Int32) -> Void, end: (Int32, Int64) -> Void
    ) throws -> Bool {
        let wasIdle = reading.isIdle
        askForEnds(at: now)
        // Also when nothing is asked for: what came too late would keep the descriptor readable, and the loop awake.
        let events = consumer.poll(into: &batch)
        for index in 0..<batch.count {
            let lane = batch[index].partition
            guard reading.accepts(lane, at: batch[index].offset) else { continue }
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
            guard reading.receiptsWereDeleted(partition.partition) else { return }
            nextQuestion = now.advanced(byMilliseconds: Self.againMilliseconds)
            log.warning(
                "receipts were deleted before they were read; pushes that they tell of may be made again",
                .field("partition", partition.description))
        case .failed(.partition(_, let error)), .failed(.client(let error)):
            log.warning("receipts cannot be read now", .field("error", error))
        case .failed(.rebuild(let error)): throw error
        case .answered(let id, let answer) where id == question: try hear(answer, at: now)
        case .offered, .revoked, .lost, .suspended, .committed, .answered: break
        }
    }

    private func askForEnds(at now: Instant) {
        let lanes = reading.lanesWithoutEnd.filter { !askedLanes.contains($0) }
        guard !lanes.isEmpty, now >= nextQuestion else { return }
        // A question covers every lane without an end, so that one question is out at a time.
        askedLanes = Set(reading.lanesWithoutEnd)
        question = consumer.ask(.ends(askedLanes.map { TopicPartition(topic, $0) }))
    }

    private func hear(_ answer: KafkaAnswer, at now: Instant) throws {
        switch answer {
        case .ends(let found):
            for (partition, ends) in found where askedLanes.remove(partition.partition) != nil {
                reading.begin(partition.partition, low: ends.low, high: ends.high)
            }
            // The assignment is made anew with the new lanes, from where the others are.
            try consumer.assign(
                reading.starts.map { PartitionStart(TopicPartition(topic, $0.lane), .offset($0.offset)) })
        case .failed(let partitions, let error):
            if error.code.isAccessRefused { throw error }
            for partition in partitions { askedLanes.remove(partition.partition) }
            nextQuestion = now.advanced(byMilliseconds: Self.againMilliseconds)
            log.warning(
                "the end of receipts cannot be asked for now; lanes wait for it",
                .field("lanes", partitions.count), .field("error", error))
        case .committed, .records: break
        }
    }

    func close() { _ = consumer.close() }
}
