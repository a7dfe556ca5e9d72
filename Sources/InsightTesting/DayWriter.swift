package import IngestTesting
internal import Kafka
internal import LiveActivity
internal import Telemetry
internal import Topics

/// Writes records of a day to their topics, acknowledged. One producer, so that what has one key stays in order.
package final class DayWriter {
    private let producer: Producer
    private let bed: IngestBed
    private var topics: [TopicName: Topic] = [:]
    private var deliveries: [Delivery] = []
    private var stored = 0
    /// What became of the first record that was not stored.
    private var loss: Delivery.Outcome?
    package private(set) var sent = 0

    package init(_ bed: IngestBed) throws {
        self.bed = bed
        producer = try Producer(bed.settings, name: "day", log: .silent, metrics: Metrics())
    }

    package func write(_ record: DayRecord) throws {
        let known = topics[record.topic]
        let topic = try known ?? producer.topic(bed.layout.name(record.topic))
        topics[record.topic] = topic
        while true {
            var headers = RecordHeaders(capacity: 1)
            if !record.addressees.isEmpty { headers.add(ReceiptLines.header, record.addressees.span) }
            let result = producer.send(
                to: topic, partition: record.partition, key: record.key?.span, value: record.value?.span,
                headers: &headers, tag: 0)
            if result != .full { break }
            collect(waitMilliseconds: 10)
        }
        sent += 1
        // The first record of a topic comes alone, and then now and then what came is counted.
        if known == nil { _ = producer.flush(withinMilliseconds: 60_000, into: &deliveries) }
        if sent % 1000 == 0 { collect(waitMilliseconds: 0) }
    }

    private func collect(waitMilliseconds: Int32) {
        _ = producer.collect(into: &deliveries, waitMilliseconds: waitMilliseconds)
        stored += deliveries.count { $0.isStored }
        loss = loss ?? deliveries.first { !$0.isStored }?.outcome
        deliveries.removeAll(keepingCapacity: true)
    }

    /// Waits for all acknowledgements; true when no record can come any more. Which are stored the topics say, and of
    /// an answer that was lost nobody else can.
    package func finish() -> Bool {
        let left = producer.flush(withinMilliseconds: 60_000, into: &deliveries)
        collect(waitMilliseconds: 0)
        if let loss {
            print(
                "  \(sent - stored) of \(sent) records have no word that they are stored; the first: \(loss)")
        }
        return left == 0
    }
}
