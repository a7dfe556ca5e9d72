import Kafka
import Lifecycle
import Telemetry

/// A record of `reports` as any consumer reads it.
struct StoredReport: Equatable {
    let partition: Int32
    let key: String
    let value: String

    /// Returns all records when there are at least as many as wanted. Blocks.
    static func all(
        _ settings: KafkaSettings, _ topic: String, lanes: Int, _ wanted: Int
    ) throws -> [StoredReport] {
        let consumer = try Consumer(
            settings: settings, options: ConsumerOptions(membership: .manual), name: "test", log: .silent,
            metrics: Metrics())
        defer { _ = consumer.close(withinMilliseconds: 500) }
        try consumer.assign(
            startingAt: (0..<Int32(lanes)).map {
                PartitionStart(partition: TopicPartition(topic, $0), position: .beginning)
            })
        var found: [StoredReport] = []
        var batch = RecordBatch()
        var ends: Set<Int32> = []
        let limit = Instant.now().advanced(byMilliseconds: 60_000)
        while found.count < wanted || ends.count < lanes, Instant.now() < limit {
            for event in consumer.poll(into: &batch, waitMilliseconds: 50) {
                if case .reachedEnd(let partition, _) = event { ends.insert(partition.partition) }
            }
            for index in 0..<batch.count {
                let record = batch[index]
                found.append(
                    StoredReport(
                        partition: record.partition, key: text(record.key), value: text(record.value)))
            }
        }
        batch.clear()
        return found
    }

    private static func text(_ span: Span<UInt8>?) -> String {
        guard let span else { return "" }
        return span.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}
