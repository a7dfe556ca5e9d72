internal import Kafka
package import LiveActivity
internal import Telemetry
package import Topics

/// Writes reports, or other records, as the gateway does: plainly, keyed, acknowledged.
package final class ReportSender {
    private let producer: Producer
    private let topic: Topic
    private let lanes: Int
    /// Partitions in which the producer is known.
    private var known: Set<Int32> = []
    private var deliveries: [Delivery] = []
    private var stored = 0
    /// Why the first record that is not stored is not.
    private var loss: String?
    package private(set) var sent = 0

    package init(_ bed: IngestBed, to topic: TopicName = .reports) throws {
        producer = try Producer(bed.settings, name: topic.rawValue, log: .silent, metrics: Metrics())
        self.topic = try producer.topic(bed.layout.name(topic))
        lanes = bed.layout.lanes
    }

    package func send(_ report: Report) { send(key: report.key, value: report.encoded()) }

    /// - Parameter partition: nil leaves it to the key.
    package func send(key: [UInt8]?, value: [UInt8]?, partition: Int32? = nil) {
        while true {
            let result = producer.send(
                to: topic, partition: partition, key: key?.span, value: value?.span, tag: UInt64(sent))
            if result == .full {
                collect(waitMilliseconds: 10)
                continue
            }
            if result != .queued { loss = loss ?? "\(result)" }
            break
        }
        sent += 1
        let lane = partition ?? key.map { Int32(Murmur2.partition(of: $0.span, of: lanes)) } ?? -1
        if known.insert(lane).inserted { flush() }
        if sent % 1000 == 0 { collect(waitMilliseconds: 0) }
    }

    private func collect(waitMilliseconds: Int32) {
        _ = producer.collect(into: &deliveries, waitMilliseconds: waitMilliseconds)
        for delivery in deliveries {
            if delivery.isStored { stored += 1 } else { loss = loss ?? "\(delivery.outcome)" }
        }
        deliveries.removeAll(keepingCapacity: true)
    }

    /// The first record of a producer comes alone: what a leader that moves refuses of it, and takes of those
    /// behind it, is lost, and told, which a test of something else does not want.
    private func flush() { _ = producer.flush(withinMilliseconds: 60_000, into: &deliveries) }

    /// Waits for all acknowledgements; true when every record is stored.
    package func finish() -> Bool {
        flush()
        collect(waitMilliseconds: 0)
        if let loss { print("  \(sent - stored) of \(sent) records are not stored; the first: \(loss)") }
        return stored == sent
    }
}
