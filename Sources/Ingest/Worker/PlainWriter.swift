internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Telemetry
internal import Topics

/// What a batch sends outside its transaction: bad reports to the dead letters, and reports that lay in
/// the wrong partition to the right one. Both are acknowledged before their offsets are committed, so
/// none is lost; a crash in between doubles them. Pinned to its loop's thread.
final class PlainWriter {
    /// How long acknowledgements may take; then the batch is read again.
    static let acknowledgeMilliseconds = 10_000
    /// Of a dead letter's record. A larger one, which compression may have smuggled in, is named by its
    /// place alone: a record that the topic refuses would hold up its partition for ever.
    private static let keptBytesMax = 4 << 20
    /// That, and the headers that say why it is a dead letter.
    private static let recordBytesMax = keptBytesMax + 1 << 16

    private let producer: Producer
    private let reports: Topic
    private let letters: Topic
    private var deliveries: [Delivery] = []
    private var unanswered = 0
    private var failure: String?

    init(_ settings: KafkaSettings, _ layout: TopicLayout, name: String, log: Log, metrics: Metrics) throws {
        var options = ProducerOptions()
        options.recordBytesMax = Self.recordBytesMax
        options.deliveryMillisecondsMax = Self.acknowledgeMilliseconds
        producer = try Producer(settings, options, name: name, log: log, metrics: metrics)
        reports = try producer.topic(layout.name(.reports))
        letters = try producer.topic(layout.name(.deadLetters))
    }

    var isRuined: Bool { producer.fatalError != nil }

    /// Where the partition begins and ends now; nil without an answer in time.
    func ends(of partition: Kafka.TopicPartition) -> Watermarks? {
        try? producer.watermarks(of: partition)
    }

    /// The report as it came, to the partition where it belongs, under the key that says so.
    ///
    /// - Parameter isEverywhere: it is a copy for the partition.
    func forward(
        _ value: Span<UInt8>, key: [UInt8], arrival: Arrival, to partition: Int32, isEverywhere: Bool = false
    ) {
        var headers = RecordHeaders(capacity: 3)
        if isEverywhere { headers.add(Report.everywhereHeader, [UInt8]().span) }
        headers.add(Report.receivedAtHeader, Array(String(arrival.receivedAt).utf8).span)
        headers.add(Report.offsetHeader, Array(String(arrival.offset).utf8).span)
        while true {
            let result = producer.send(
                to: reports, partition: partition, key: key.span, value: value, headers: &headers, tag: 0)
            if result != .full { return take(result) }
            collect(waitMilliseconds: 10)
        }
    }

    /// The record as it came but for its tokens, beside headers that say why it is here.
    func bury(_ record: borrowing Kafka.Record, sealedBy seal: LetterSeal, as letter: DeadLetter) {
        var letter = letter
        var headers = RecordHeaders(capacity: 12)
        let own = record.headers
        let bytes = record.bytes
        let isKept = bytes <= Self.keptBytesMax
        if isKept {
            for index in 0..<own.count { headers.add(named: own[index].name, own[index].value) }
        } else {
            letter.reason += "; its \(bytes) bytes are not kept here"
        }
        for (name, value) in letter.headers {
            let name = Array(name.rawValue.utf8)
            let value = Array(value.utf8)
            headers.add(named: name.span, value.span)
        }
        let key = isKept ? record.key : nil
        guard isKept, let value = record.value else {
            return write(letter, key: key, value: nil, &headers)
        }
        if let sealed = seal.sealed(value) {
            write(letter, key: key, value: sealed.span, &headers)
        } else {
            write(letter, key: key, value: value, &headers)
        }
    }

    private func write(
        _ letter: DeadLetter, key: Span<UInt8>?, value: Span<UInt8>?, _ headers: inout RecordHeaders
    ) {
        while true {
            let result = producer.send(
                to: letters, partition: letter.partition, key: key, value: value, headers: &headers, tag: 0)
            if result != .full { return take(result) }
            collect(waitMilliseconds: 10)
        }
    }

    private func take(_ result: SendResult) {
        switch result {
        case .queued: unanswered += 1
        case .full: break
        case .refused(let code), .rebuild(let code): failure = "\(code.remedy) (\(code.rawValue))"
        }
    }

    private func collect(waitMilliseconds: Int32) {
        _ = producer.collect(into: &deliveries, waitMilliseconds: waitMilliseconds)
        settle()
    }

    private func settle() {
        for delivery in deliveries {
            unanswered -= 1
            switch delivery.outcome {
            case .stored: break
            case .notStored(let code), .unknown(let code): failure = "\(code.remedy) (\(code.rawValue))"
            }
        }
        deliveries.removeAll(keepingCapacity: true)
    }

    /// Waits until everything is acknowledged. Nil, or what went wrong; then the batch must not commit.
    func acknowledge() -> String? {
        defer { failure = nil }
        if unanswered > 0 {
            _ = producer.flush(withinMilliseconds: Self.acknowledgeMilliseconds, into: &deliveries)
            settle()
        }
        if unanswered > 0 { return "\(unanswered) records were not acknowledged in time" }
        return failure
    }

    /// Serves errors and statistics when there is nothing to send.
    func serve() { collect(waitMilliseconds: 0) }
}
