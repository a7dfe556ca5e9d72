internal import JSON
internal import Jobs
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Telemetry

/// The reader of `receipts`, for the takeover of lanes. For each lane it reads the records from an offset to the marker
/// that the loop has written for the takeover. It is used on the thread of its loop only.
///
/// A lane waits until its marker is stored. Other lanes do not wait for that.
final class ReceiptsReader {
    private let topicReader: PartitionReader
    private let log: Log
    private let jsonReader = JSONReader()
    private var batch = RecordBatch(recordsMax: 1_000, bytesMax: 4 << 20)
    /// The ranges that are still to be read.
    private var readPlan = ReceiptReadPlan()
    /// Whether lanes have begun that `topicReader` does not read yet.
    private var hasNewLanes = false

    /// - Parameter topicReader: The reader of `receipts`. If receipts were deleted, it reads those that exist.
    init(_ topicReader: PartitionReader, log: Log) {
        self.topicReader = topicReader
        self.log = log
    }

    var descriptor: Int32 { topicReader.descriptor }

    /// Plans to read a lane. The loop writes a new marker, because the receipts may end later now.
    func read(lane: Int32, from offset: Int64) { readPlan.planRead(lane: lane, from: offset) }

    /// Begins to read a lane up to its marker, which is stored.
    func begin(lane: Int32, markerAt offset: Int64) {
        readPlan.begin(lane: lane, markerAt: offset)
        hasNewLanes = true
    }

    /// Forgets all lanes, because they belong to other processes.
    func stop() {
        readPlan.forgetAll()
        hasNewLanes = false
        topicReader.release()
    }

    /// Passes on new receipts and markers, and the lanes whose receipts were read to our marker. Returns whether there
    /// may be more at once.
    func poll(
        receipt passReceipt: (Receipt, _ lane: Int32) -> Void,
        marker passMarker: (TakeoverMarker, _ lane: Int32, _ offset: Int64) -> Void,
        end passEnd: (_ lane: Int32, _ end: Int64) -> Void
    ) throws -> Bool {
        let wasIdle = readPlan.isIdle
        if hasNewLanes { assignLanes() }
        // It polls even if no lane is read. Otherwise late records keep the descriptor readable, and the loop awake.
        let events = topicReader.poll(into: &batch)
        for index in 0..<batch.count {
            let record = batch[index]
            let lane = record.partition
            let isWanted = readPlan.take(lane: lane, at: record.offset)
            guard isWanted else { continue }
            // A malformed record is skipped. Only senders write this topic.
            if let bytes = [UInt8](copying: record.value) {
                if let receipt = try? Receipt.decode(bytes, with: jsonReader) { passReceipt(receipt, lane) }
            } else if let header = record.headers.last(named: TakeoverMarker.header),
                let bytes = [UInt8](copying: header.value),
                let marker = TakeoverMarker(headerValue: bytes)
            {
                passMarker(marker, lane, record.offset)
            }
        }
        let isFull = batch.isFull
        batch.clear()
        for event in events { try handle(event) }
        let ends = readPlan.takeEnded()
        // If the reader kept its partitions, it would fetch the receipts that this sender writes.
        if !wasIdle, readPlan.isIdle { topicReader.release() }
        for end in ends { passEnd(end.lane, end.offset) }
        return isFull
    }

    /// Assigns the new lanes to the reader. The others continue at their positions.
    private func assignLanes() {
        hasNewLanes = false
        topicReader.assign(
            startingAt: readPlan.starts.map {
                PartitionStart(
                    partition: TopicPartition(topicReader.topic, $0.lane), position: .offset($0.offset))
            })
    }

    private func handle(_ event: ConsumerEvent) throws {
        switch event {
        case .reachedEnd(let partition, let offset):
            readPlan.reachedEnd(lane: partition.partition, at: offset)
        case .failed(.unusable(let error)): throw error
        case .failed(let failure):
            log.warning("receipts cannot be read now", .field("error", failure))
        case .offered, .revoked, .lost, .suspended, .committed, .queryCompleted: break
        }
    }

    func close() { topicReader.close() }
}
