import Kafka
import Lifecycle
import Telemetry

/// A record of a topic as any consumer reads it, with its key and its value as text.
struct StoredRecord: Equatable {
    let partition: Int32
    let key: String
    let value: String

    /// The limit of `readAll`.
    private static let readMillisecondsMax = 60_000

    /// A topic that did not have enough records within the limit.
    struct TooFewRecords: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads a topic until each lane was read to its end and at least `count` records came, and returns them. Throws
    /// `TooFewRecords` after a minute. Blocks.
    static func readAll(
        of topic: String, lanes: Int, atLeast count: Int, on settings: KafkaSettings
    ) throws -> [StoredRecord] {
        let consumer = try Consumer(
            settings: settings, options: ConsumerOptions(membership: .manual), name: "test", log: .silent,
            metrics: Metrics())
        defer { _ = consumer.close(withinMilliseconds: 500) }
        try consumer.assign(
            startingAt: (0..<Int32(lanes)).map {
                PartitionStart(partition: TopicPartition(topic, $0), position: .beginning)
            })
        var records: [StoredRecord] = []
        var batch = RecordBatch()
        var lanesAtEnd: Set<Int32> = []
        let deadline = Instant.now().advanced(byMilliseconds: readMillisecondsMax)
        while records.count < count || lanesAtEnd.count < lanes {
            guard Instant.now() < deadline else {
                batch.clear()
                throw TooFewRecords(
                    description:
                        "\(topic) had \(records.count) records of at least \(count), and \(lanesAtEnd.count) of its \(lanes) lanes were read to their ends within \(readMillisecondsMax) ms"
                )
            }
            for event in consumer.poll(into: &batch, waitMilliseconds: 50) {
                if case .reachedEnd(let partition, _) = event { lanesAtEnd.insert(partition.partition) }
            }
            for index in 0..<batch.count {
                let record = batch[index]
                records.append(
                    StoredRecord(
                        partition: record.partition, key: text(record.key), value: text(record.value)))
            }
        }
        // The batch owns messages of the consumer, which is closed next.
        batch.clear()
        return records
    }

    private static func text(_ span: Span<UInt8>?) -> String {
        guard let span else { return "" }
        return span.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}
