internal import Kafka
package import LiveActivity
package import Topics

/// A sender of reports or other records, in the way of the gateway: without transactions, with keys,
/// acknowledged.
package final class ReportSender {
    private let producer: CountedProducer
    private let topic: Topic
    private let lanes: Int
    /// The partitions that already have a record of this producer.
    private var known: Set<Int32> = []

    package init(_ bed: IngestBed, to topic: TopicName = .reports) throws {
        producer = try CountedProducer(bed, name: topic.rawValue)
        self.topic = try producer.topic(bed.layout.name(of: topic))
        lanes = bed.layout.lanes
    }

    package var sent: Int { producer.sent }

    package func send(_ report: Report) { send(key: report.key, value: report.encoded()) }

    /// - Parameter partition: The partition, or nil if the key decides.
    package func send(key: [UInt8]?, value: [UInt8]?, partition: Int32? = nil) {
        producer.send(to: topic, partition: partition, key: key?.span, value: value?.span)
        let lane =
            partition ?? key.map { Int32(Murmur2.partition(forKey: $0.span, partitionCount: lanes)) } ?? -1
        // The first record of a producer is sent alone. If a moving leader rejects it and accepts later ones,
        // the rejected record is lost and reported. Most tests must not meet this case.
        if known.insert(lane).inserted { producer.flush() }
    }

    /// Waits for all acknowledgements. Returns whether every record is stored.
    package func finish() -> Bool {
        _ = producer.finish()
        return producer.areAllStored
    }
}
