internal import Kafka
internal import Lifecycle
internal import Telemetry

/// One partition read from its beginning to its end by a command that answers and goes.
struct TopicScan {
    private static let millisecondsMax = 120_000

    let kafka: KafkaSettings
    let place: TopicPartition

    /// - Parameter each: key and value, in order; a tombstone has no value.
    func run(_ each: (_ key: [UInt8], _ value: [UInt8]?) -> Void) throws {
        var kafka = kafka
        // The end shows when a fetch comes back empty, which it otherwise does after half a second.
        kafka.properties["fetch.wait.max.ms"] = "10"
        let consumer = try Consumer(
            kafka, ConsumerOptions(.manual), name: "scan", log: .silent, metrics: Metrics())
        defer { _ = consumer.close(withinMilliseconds: 1000) }
        try consumer.assign([PartitionStart(place, .beginning)])
        var batch = RecordBatch(recordsMax: 10_000)
        defer { batch.clear() }
        let limit = Instant.now().advanced(byMilliseconds: Self.millisecondsMax)
        while Instant.now() < limit {
            let events = consumer.poll(into: &batch, waitMilliseconds: 100)
            for index in 0..<batch.count {
                if let key = [UInt8](copying: batch[index].key) {
                    each(key, [UInt8](copying: batch[index].value))
                }
            }
            for event in events {
                if case .end = event { return }
                if case .failed(.outOfRange(_, let text)) = event {
                    throw Refusal(status: .unavailable, "cannot read \(place): \(text)")
                }
            }
        }
        throw Refusal(
            status: .unavailable,
            "\(place) was not read to its end in \(Self.millisecondsMax / 1000) s; check that the brokers run"
        )
    }
}
