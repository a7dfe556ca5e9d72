package import IngestTesting
internal import Kafka
internal import LiveActivity
internal import Topics

/// Writes records of a day to their topics, acknowledged. One producer, so that what has one key stays in order.
package final class DayWriter {
    private let producer: CountedProducer
    private let bed: IngestBed
    private var topics: [TopicName: Topic] = [:]

    package init(_ bed: IngestBed) throws {
        self.bed = bed
        producer = try CountedProducer(bed, name: "day")
    }

    package var sent: Int { producer.sent }

    package func write(_ record: DayRecord) throws {
        let known = topics[record.topic]
        let topic = try known ?? producer.topic(bed.layout.name(record.topic))
        topics[record.topic] = topic
        var headers = RecordHeaders(capacity: 1)
        if !record.addressees.isEmpty { headers.add(ReceiptLines.header, record.addressees.span) }
        producer.send(
            to: topic, partition: record.partition, key: record.key?.span, value: record.value?.span,
            headers: headers)
        // The first record of a topic comes alone.
        if known == nil { producer.flush() }
    }

    /// Waits for all acknowledgements; true when no record can come any more. Which are stored the topics say, and of
    /// an answer that was lost nobody else can.
    package func finish() -> Bool { producer.finish() == 0 }
}
