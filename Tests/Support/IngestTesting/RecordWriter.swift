package import InstallationRecords
internal import Kafka
internal import RecordFormat
package import Topics

/// A writer of reports or other records to one topic. It writes as the gateway does: with keys, without transactions,
/// and it waits for acknowledgements.
package final class RecordWriter {
    private let producer: CountingProducer
    private let topic: Topic
    private let lanes: Int
    /// The partitions that already have a record of this producer. Nil stands for the records without a partition and a
    /// key.
    private var writtenPartitions: Set<Int32?> = []

    package init(on bed: TestBed, to topic: TopicName = .reports) throws {
        producer = try CountingProducer(on: bed, name: topic.rawValue)
        self.topic = try producer.topic(named: bed.layout.name(of: topic))
        lanes = bed.layout.lanes
    }

    package var sentCount: Int { producer.sentCount }

    package func write(_ report: Report) { write(key: report.key, value: report.encoded()) }

    /// Writes a record.
    ///
    /// - Parameter partition: The partition, or nil if the key decides.
    package func write(key: [UInt8]?, value: [UInt8]?, partition: Int32? = nil) {
        producer.send(to: topic, partition: partition, key: key?.span, value: value?.span)
        let lane = partition ?? key.map { Int32(Murmur2.partition(forKey: $0.span, partitionCount: lanes)) }
        // The first record of a producer is sent alone. If a moving leader rejects it and accepts later ones,
        // the rejected record is lost and reported. Most tests must not meet this case.
        if writtenPartitions.insert(lane).inserted { producer.flush() }
    }

    /// Waits for all acknowledgements. Returns whether every record is stored.
    package func finish() -> Bool {
        _ = producer.finish()
        return producer.areAllStored
    }
}
