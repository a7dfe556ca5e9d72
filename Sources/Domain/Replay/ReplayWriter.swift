internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Telemetry
internal import Topics

/// A record that is sent again.
struct OutgoingRecord {
    let topic: TopicName
    let partition: Int32
    let key: [UInt8]?
    let value: [UInt8]?
    let headers: [Letter.Header]
}

/// The writer of a command's records and marks. It waits for all acknowledgements.
final class ReplayWriter {
    private static let flushMilliseconds = 60_000
    private static let recordBytesMax = 4 << 20 + 1 << 18

    private let box: LetterBox
    private let producer: Producer
    private var topics: [TopicName: Topic] = [:]
    private var transactions: TransactionalProducer?
    private let author: String
    private let run: String

    init(_ box: LetterBox, author: String, run: String) throws {
        self.box = box
        self.author = author
        self.run = run
        var options = ProducerOptions()
        options.recordBytesMax = Self.recordBytesMax
        producer = try Producer(box.settings, options, name: "replay", log: .silent, metrics: Metrics())
    }

    /// Writes a mark.
    ///
    /// - Parameter run: The run of the mark, or nil for this run.
    /// - Returns: The offset of the mark.
    @discardableResult
    func mark(
        _ deed: LetterMark.Deed, _ phase: LetterMark.Phase, in partition: Int32, of run: String? = nil,
        letters: [Int64] = [], jobs: [LetterMark.Jobs] = []
    ) throws -> Int64 {
        let mark = LetterMark(
            deed, phase, run: run ?? self.run, by: author, at: WallTime.now().milliseconds, letters: letters,
            jobs: jobs)
        let header = Letter.Header(name: Array(LetterMark.header.description.utf8), value: Array("1".utf8))
        let record = OutgoingRecord(
            topic: .deadLetters, partition: partition, key: nil, value: mark.encoded(), headers: [header])
        return try send([record]).first ?? -1
    }

    func audit(_ action: String, app: String, subject: String) throws {
        let entry = AuditEntry(
            at: WallTime.now().milliseconds, by: author, action: action, app: app, subject: subject)
        let topic = try topic(.audit)
        _ = try producer.store("write the audit", in: topic, key: entry.key, value: entry.encoded())
    }

    private func topic(_ name: TopicName) throws -> Topic {
        if let known = topics[name] { return known }
        let topic = try producer.topic(box.layout.name(name))
        topics[name] = topic
        return topic
    }

    /// Stores all records. If it throws, it is unknown which of them are stored.
    ///
    /// - Returns: The offsets of the records.
    @discardableResult
    func send(_ records: [OutgoingRecord]) throws -> [Int64] {
        var deliveries: [Delivery] = []
        for (index, record) in records.enumerated() {
            let topic = try topic(record.topic)
            var headers = RecordHeaders(record.headers)
            while true {
                let result = producer.send(
                    to: topic, partition: record.partition, key: record.key?.span, value: record.value?.span,
                    headers: &headers, tag: UInt64(index))
                if case .queued = result { break }
                if case .refused(let code) = result {
                    throw KafkaError("write to \(topic.name)", code, text: code.text)
                }
                if case .rebuild(let code) = result {
                    throw KafkaError("write to \(topic.name)", code, text: code.text)
                }
                _ = producer.collect(into: &deliveries, waitMilliseconds: 10)
            }
        }
        _ = producer.flush(withinMilliseconds: Self.flushMilliseconds, into: &deliveries)
        guard deliveries.count == records.count else {
            throw KafkaError("write records", .timedOut, text: "not all records were acknowledged")
        }
        return try deliveries.sorted { $0.tag < $1.tag }.map { delivery in
            switch delivery.outcome {
            case .stored(let offset): return offset
            case .notStored(let code), .unknown(let code):
                throw KafkaError("write records", code, text: code.text)
            }
        }
    }

    /// Sends records in a transaction, to topics that have only transactional writers. A plain record behind
    /// the records of a killed transaction would stay hidden.
    func sendInTransaction(_ records: [OutgoingRecord]) throws {
        if records.isEmpty { return }
        let writer = try transactions ?? begin()
        transactions = writer
        try writer.begin()
        for record in records {
            var headers = RecordHeaders(record.headers)
            let topic = try writer.topic(box.layout.name(record.topic))
            let result = writer.send(
                to: topic, partition: record.partition, key: record.key?.span, value: record.value?.span,
                headers: &headers)
            guard result == .queued else {
                try writer.abort()
                throw ReplayFailure(.unavailable, "\(topic.name) does not accept a record: \(result)")
            }
        }
        try writer.commit()
    }

    /// Starts the transactional producer. Two concurrent calls fence each other.
    private func begin() throws -> TransactionalProducer {
        let writer = try TransactionalProducer(
            box.settings, transactionalID: box.layout.prefix + "replay", name: "replay", log: .silent,
            metrics: Metrics())
        try writer.initialise()
        return writer
    }
}

extension RecordHeaders {
    fileprivate init(_ headers: [Letter.Header]) {
        self.init(capacity: headers.count)
        for header in headers { add(named: header.name.span, header.value?.span) }
    }
}
