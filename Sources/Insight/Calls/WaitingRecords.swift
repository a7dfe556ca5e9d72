internal import Kafka
internal import Lifecycle
internal import Telemetry

/// Looks at the first record that a group has still to read in each partition. Pinned to its thread.
final class WaitingRecords {
    /// Partitions of one look, those with the most records; what is beyond shows when these are read.
    private static let partitionsMax = 200
    private static let lookMilliseconds = 500
    private static let pollMilliseconds: Int32 = 50

    private let consumer: Consumer
    private var batch = RecordBatch(recordsMax: 1000, bytesMax: 4 << 20)

    init(_ settings: KafkaSettings, log: Log) throws {
        var options = ConsumerOptions(.manual)
        // What the group wants next may be gone; the oldest that is left waits for it.
        options.outOfRange = .earliest
        options.prefetchKibibytesMax = 1024
        consumer = try Consumer(settings, options, name: "waiting", log: log, metrics: Metrics())
    }

    /// Milliseconds since 1970: when what waits was written. A partition in which only ends of transactions wait, or
    /// that did not answer in time, is left out.
    func oldest(of lags: [GroupLag]) throws -> [TopicPartition: Int64] {
        let wanted = lags.filter { $0.records > 0 }.sorted { $0.records > $1.records }
            .prefix(Self.partitionsMax)
        if wanted.isEmpty { return [:] }
        try consumer.assign(
            wanted.map { lag in
                PartitionStart(
                    lag.committed.partition, lag.committed.offset.map { .offset($0) } ?? .beginning)
            })
        defer { try? consumer.release() }
        var left = Set(wanted.map(\.committed.partition))
        var found: [TopicPartition: Int64] = [:]
        let deadline = Instant.now().advanced(byMilliseconds: Self.lookMilliseconds)
        while !left.isEmpty, Instant.now() < deadline {
            var seen: [TopicPartition] = []
            for event in consumer.poll(into: &batch, waitMilliseconds: Self.pollMilliseconds) {
                if case .end(let place, _) = event { seen.append(place) }
            }
            for index in 0..<batch.count {
                let place = TopicPartition(consumer.topics[batch[index].topic], batch[index].partition)
                guard found[place] == nil, let time = batch[index].timestamp else { continue }
                found[place] = time
                seen.append(place)
            }
            batch.clear()
            consumer.pause(seen.filter { left.remove($0) != nil })
        }
        return found
    }
}
