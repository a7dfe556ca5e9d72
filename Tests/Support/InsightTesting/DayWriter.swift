package import IngestTesting
internal import Jobs
internal import Kafka
internal import Topics

/// A writer of the records of a day. It uses one producer, so that records of one key stay in order. Call `finish` to
/// wait for all acknowledgements.
package final class DayWriter {
    private let producer: CountingProducer
    private let bed: TestBed
    private var topics: [TopicName: Topic] = [:]

    package init(on bed: TestBed) throws {
        self.bed = bed
        producer = try CountingProducer(on: bed, name: "day")
    }

    package var sentCount: Int { producer.sentCount }

    package func write(_ record: DayRecord) throws {
        let knownTopic = topics[record.topic]
        let topic = try knownTopic ?? producer.topic(named: bed.layout.name(of: record.topic))
        topics[record.topic] = topic
        var headers = RecordHeaders(capacity: 1)
        if !record.addressees.isEmpty { headers.add(ReceiptLines.header, value: record.addressees.span) }
        producer.send(
            to: topic, partition: record.partition, key: record.key?.span, value: record.value?.span,
            headers: headers)
        // The first record of a topic is sent alone. If a moving leader rejects it and accepts later ones, the rejected
        // record is lost. Most tests must not meet this case.
        if knownTopic == nil { producer.flush() }
    }

    /// Waits for all acknowledgements. Returns true if every record has one, also if it reports a failure, because then
    /// no further record can be stored. The model counts the records in the topics.
    package func finish() -> Bool { producer.finish() == 0 }
}
