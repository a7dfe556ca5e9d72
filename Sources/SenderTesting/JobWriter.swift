package import IngestTesting
internal import Kafka
package import LiveActivity
internal import Telemetry
package import Topics

/// Writes sheets as a fan-out does, many in flight.
package final class JobWriter {
    private let producer: Producer
    private let topics: [TopicName: Topic]
    private var deliveries: [Delivery] = []
    private var stored = 0
    package private(set) var sent = 0

    private static let targets: [TopicName] = [.jobs, .jobsUrgent, .superseded]
    private static let flushMilliseconds = 60_000

    package init(_ bed: IngestBed) throws {
        var options = ProducerOptions()
        // As fan-out has it: how dear reading is depends on it.
        options.compression = .lz4
        let producer = try Producer(
            bed.settings, options, name: "fan-out", log: .silent, metrics: Metrics())
        self.producer = producer
        topics = try Dictionary(
            uniqueKeysWithValues: Self.targets.map { ($0, try producer.topic(bed.layout.name($0))) })
    }

    package func write(
        _ head: SheetHead, _ lines: JobLines, body: [UInt8], lane: Int32, to topic: TopicName = .jobs
    ) {
        send(to: topic, lane, key: nil, value: body) {
            var headers = RecordHeaders(capacity: 3)
            headers.add(SheetHeader.apns, head.apnsLines.span)
            headers.add(SheetHeader.flotilla, head.flotillaLines.span)
            headers.add(SheetHeader.to, lines.bytes.span)
            return headers
        }
    }

    /// As the planner does before the jobs are there.
    package func write(_ note: SupersededNote) {
        send(to: .superseded, 0, key: note.key, value: note.encoded()) { RecordHeaders(capacity: 0) }
    }

    private func send(
        to name: TopicName, _ partition: Int32, key: [UInt8]?, value: [UInt8],
        headers makeHeaders: () -> RecordHeaders
    ) {
        guard let topic = topics[name] else { preconditionFailure("jobs are not written to \(name)") }
        var headers = makeHeaders()
        while producer.send(
            to: topic, partition: partition, key: key?.span, value: value.span, headers: &headers, tag: 1)
            == .full
        {
            collect(waitMilliseconds: 10)
        }
        sent += 1
        if sent % 100 == 0 { collect(waitMilliseconds: 0) }
    }

    private func collect(waitMilliseconds: Int32) {
        _ = producer.collect(into: &deliveries, waitMilliseconds: waitMilliseconds)
        count()
    }

    private func count() {
        stored += deliveries.count { $0.isStored }
        deliveries.removeAll(keepingCapacity: true)
    }

    /// Waits for all acknowledgements; true when every record is stored.
    package func finish() -> Bool {
        _ = producer.flush(withinMilliseconds: Self.flushMilliseconds, into: &deliveries)
        count()
        return stored == sent
    }
}
