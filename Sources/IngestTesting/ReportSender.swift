internal import Kafka
package import LiveActivity
package import Topics

/// Writes reports, or other records, as the gateway does: plainly, keyed, acknowledged.
package final class ReportSender {
    private let producer: CountedProducer
    private let topic: Topic
    private let lanes: Int
    /// Partitions in which the producer is known.
    private var known: Set<Int32> = []

    package init(_ bed: IngestBed, to topic: TopicName = .reports) throws {
        producer = try CountedProducer(bed, name: topic.rawValue)
        self.topic = try producer.topic(bed.layout.name(topic))
        lanes = bed.layout.lanes
    }

    package var sent: Int { producer.sent }

    package func send(_ report: Report) { send(key: report.key, value: report.encoded()) }

    /// - Parameter partition: nil leaves it to the key.
    package func send(key: [UInt8]?, value: [UInt8]?, partition: Int32? = nil) {
        producer.send(to: topic, partition: partition, key: key?.span, value: value?.span)
        let lane = partition ?? key.map { Int32(Murmur2.partition(of: $0.span, of: lanes)) } ?? -1
        // The first record of a producer comes alone: what a leader that moves refuses of it, and takes of those
        // behind it, is lost, and told, which a test of something else does not want.
        if known.insert(lane).inserted { producer.flush() }
    }

    /// Waits for all acknowledgements; true when every record is stored.
    package func finish() -> Bool {
        _ = producer.finish()
        return producer.areAllStored
    }
}
