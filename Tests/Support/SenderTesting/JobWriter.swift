package import IngestTesting
package import Jobs
internal import Kafka
internal import RecordFormat
package import Sends
package import Topics

/// A writer of sheets and of notes about superseded versions. It writes as the fan-out does, with many records in
/// flight.
package final class JobWriter {
    private static let writtenTopics: [TopicName] = [.jobs, .jobsUrgent, .superseded]

    private let producer: CountingProducer
    private let topics: [TopicName: Topic]

    package init(on bed: TestBed) throws {
        var options = ProducerOptions()
        // The same compression as in the fan-out, because it decides the cost of reading.
        options.compression = .none
        let producer = try CountingProducer(on: bed, options: options, name: "fan-out")
        self.producer = producer
        topics = try Dictionary(
            uniqueKeysWithValues: Self.writtenTopics.map {
                ($0, try producer.topic(named: bed.layout.name(of: $0)))
            })
    }

    package var sentCount: Int { producer.sentCount }

    /// Writes a sheet.
    package func write(
        _ head: SheetHead, lines: JobLines, body: [UInt8], lane: Int32, to topic: TopicName = .jobs
    ) {
        var headers = RecordHeaders(capacity: 3)
        headers.add(SheetHeaderName.apns, value: head.apnsLines.span)
        headers.add(SheetHeaderName.flotilla, value: head.flotillaLines.span)
        headers.add(SheetHeaderName.to, value: lines.bytes.span)
        send(to: topic, partition: lane, key: nil, value: body, headers: headers)
    }

    /// Writes a note, as the planner does before the jobs are stored.
    package func write(_ note: SupersededVersions) {
        send(
            to: .superseded, partition: 0, key: note.key, value: note.encoded(),
            headers: RecordHeaders(capacity: 0))
    }

    private func send(
        to name: TopicName, partition: Int32, key: [UInt8]?, value: [UInt8],
        headers: consuming RecordHeaders
    ) {
        guard let topic = topics[name] else { preconditionFailure("no job is written to \(name)") }
        producer.send(to: topic, partition: partition, key: key?.span, value: value.span, headers: headers)
    }

    /// Waits for all acknowledgements. Returns whether every record is stored.
    package func finish() -> Bool {
        _ = producer.finish()
        return producer.areAllStored
    }
}
