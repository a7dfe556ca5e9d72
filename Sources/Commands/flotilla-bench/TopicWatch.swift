internal import IngestTesting
internal import Kafka
internal import Telemetry
internal import Topics

/// A reader of topics that starts at the ends that they had when it was made. So it reads only records that are written
/// later, and a benchmark can measure when they become visible.
final class TopicWatch {
    private let consumer: Consumer
    private var batch = RecordBatch(recordsMax: 10_000, bytesMax: 16 * 1024 * 1024)

    convenience init(topics: [TopicName], bed: TestBed) throws {
        try self.init(topics: topics, settings: bed.settings, layout: bed.layout)
    }

    init(topics: [TopicName], settings: KafkaSettings, layout: TopicLayout) throws {
        consumer = try Consumer(
            settings: settings, options: ConsumerOptions(membership: .manual), name: "watcher", log: .silent,
            metrics: Metrics())
        var partitionStarts: [PartitionStart] = []
        for topic in topics {
            for number in 0..<Int32(layout.partitionCount(of: topic)) {
                let partition = TopicPartition(layout.name(of: topic), number)
                let end = try consumer.watermarks(of: partition).high
                partitionStarts.append(PartitionStart(partition: partition, position: .offset(end)))
            }
        }
        try consumer.assign(startingAt: partitionStarts)
    }

    deinit { _ = consumer.close() }

    /// Waits at most this long for records, and calls `body` with each one.
    ///
    /// - Returns: the number of records.
    @discardableResult
    func poll(waitMilliseconds: Int32, forEach body: (borrowing Kafka.Record) -> Void) -> Int {
        _ = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        for index in 0..<batch.count { body(batch[index]) }
        let count = batch.count
        batch.clear()
        return count
    }
}
