internal import JSON
internal import Jobs
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Telemetry

/// The reader of `receipts`, for the takeover of lanes. For each lane it reads the records from an offset to the end at
/// the time of the request. It is used on the thread of its loop only.
///
/// A lane waits until the cluster reports the end of its receipts. Other lanes do not wait for that.
final class ReceiptsReader {
    /// Pause before the next query for ends, if the last one failed or receipts were deleted.
    private static let queryRetryMilliseconds = 5_000

    private let topicReader: PartitionReader
    private let log: Log
    private let reader = JSONReader()
    private var batch = RecordBatch(recordsMax: 1_000, bytesMax: 4 << 20)
    /// The ranges that are still to be read.
    private var reading = ReceiptReadPlan()
    private var nextQuery = Instant(nanoseconds: 0)
    /// The newest query for the ends of receipts.
    private var query: OffsetQueryID?
    /// The lanes for which its answer counts.
    private var queriedLanes: Set<Int32> = []

    init(_ topicReader: PartitionReader, log: Log) {
        self.topicReader = topicReader
        self.log = log
    }

    var descriptor: Int32 { topicReader.descriptor }

    /// Begins to read a lane. The answer to an earlier query does not count for it, because its receipts may end
    /// later now.
    func read(lane: Int32, from offset: Int64) {
        reading.planRead(lane: lane, from: offset)
        queriedLanes.remove(lane)
    }

    /// Forgets all lanes, because they belong to other processes.
    func stop() {
        reading.forgetAll()
        queriedLanes = []
        topicReader.release()
    }

    /// Passes on new receipts, and the lanes whose receipts were read to the end. Returns whether there may be more at
    /// once.
    func poll(
        at now: Instant, _ passReceipt: (Receipt, _ lane: Int32) -> Void,
        end passEnd: (_ lane: Int32, _ end: Int64) -> Void
    ) throws -> Bool {
        let wasIdle = reading.isIdle
        askForEnds(at: now)
        // It polls even if no lane is read. Otherwise late records keep the descriptor readable, and the loop awake.
        let events = topicReader.poll(into: &batch)
        for index in 0..<batch.count {
            let lane = batch[index].partition
            guard reading.accepts(lane: lane, at: batch[index].offset) else { continue }
            // A malformed record is skipped. Only senders write this topic.
            if let bytes = [UInt8](copying: batch[index].value),
                let receipt = try? Receipt.decode(bytes, with: reader)
            {
                passReceipt(receipt, lane)
            }
        }
        let isFull = batch.isFull
        batch.clear()
        for event in events { try handle(event, at: now) }
        let ends = reading.takeEnded()
        // If the reader kept its partitions, it would fetch the receipts that this sender writes.
        if !wasIdle, reading.isIdle { topicReader.release() }
        for end in ends { passEnd(end.lane, end.offset) }
        return isFull
    }

    private func handle(_ event: ConsumerEvent, at now: Instant) throws {
        switch event {
        case .reachedEnd(let partition, let offset): reading.reachedEnd(lane: partition.partition, at: offset)
        case .failed(.outOfRange(let partition, _)):
            guard reading.receiptsWereDeleted(lane: partition.partition) else { return }
            nextQuery = now.advanced(byMilliseconds: Self.queryRetryMilliseconds)
            log.warning(
                "receipts were deleted before they were read; pushes that they tell of may be made again",
                .field("partition", partition.description))
        case .failed(.partition(_, let error)), .failed(.client(let error)):
            log.warning("receipts cannot be read now", .field("error", error))
        case .failed(.unusable(let error)): throw error
        case .queryCompleted(let id, let answer) where id == query: try endsAnswered(answer, at: now)
        case .offered, .revoked, .lost, .suspended, .committed, .queryCompleted: break
        }
    }

    /// Asks the cluster for the ends of lanes that wait for them.
    private func askForEnds(at now: Instant) {
        let newLanes = reading.lanesWithoutEnd.filter { !queriedLanes.contains($0) }
        guard !newLanes.isEmpty, now >= nextQuery else { return }
        // A query covers all lanes without an end. So only the answer to the newest query counts.
        queriedLanes = Set(reading.lanesWithoutEnd)
        query = topicReader.submit(
            .watermarks(queriedLanes.map { TopicPartition(topicReader.topic, $0) }))
    }

    private func endsAnswered(_ answer: OffsetQueryResult, at now: Instant) throws {
        switch answer {
        case .watermarks(let watermarks):
            for (partition, ends) in watermarks where queriedLanes.remove(partition.partition) != nil {
                reading.begin(lane: partition.partition, low: ends.low, high: ends.high)
            }
            // The new assignment includes the new lanes, and the others continue at their positions.
            topicReader.assign(
                startingAt: reading.starts.map {
                    PartitionStart(
                        partition: TopicPartition(topicReader.topic, $0.lane), position: .offset($0.offset))
                })
        case .failed(let partitions, let error):
            if error.code.isAccessRefused { throw error }
            for partition in partitions { queriedLanes.remove(partition.partition) }
            nextQuery = now.advanced(byMilliseconds: Self.queryRetryMilliseconds)
            log.warning(
                "the end of receipts cannot be asked for now; lanes wait for it",
                .field("lanes", partitions.count), .field("error", error))
        case .committedOffsets, .firstRecords: break
        }
    }

    func close() { topicReader.close() }
}
