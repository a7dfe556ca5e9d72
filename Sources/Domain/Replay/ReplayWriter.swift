internal import CatalogRecords
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Telemetry
internal import Topics

/// A writer of the records, the marks and the audit entries of one call. It waits for all acknowledgements.
final class ReplayWriter {
    private static let flushMilliseconds = 60_000
    /// The time that a call has from a begun mark to its records. Together with the time limit of a delivery
    /// (`ProducerOptions.deliveryMillisecondsMax`) it is shorter than `Redrive.busyMilliseconds`, so that no other call
    /// has taken over.
    private static let claimMillisecondsMax = 20_000
    /// The wait for acknowledgements when the producer's queue is full.
    private static let fullQueueWaitMilliseconds: Int32 = 10
    /// The size of the largest record. It is above the size of the largest one that a topic accepts.
    private static let recordBytesMax = (4 << 20) + (1 << 18)

    private let deadLetters: DeadLetterTopic
    private let producer: Producer
    private var topics: [TopicName: Topic] = [:]
    /// Nil until the first transaction.
    private var transactionalProducer: TransactionalProducer?
    private let author: String
    private let run: String
    /// The time limit for records after the newest begun mark, or nil before the first mark.
    private var claimDeadline: Instant?

    init(deadLetters: DeadLetterTopic, author: String, run: String) throws {
        self.deadLetters = deadLetters
        self.author = author
        self.run = run
        var options = ProducerOptions()
        options.recordBytesMax = Self.recordBytesMax
        producer = try Producer(
            settings: deadLetters.settings, options: options, name: "replay", log: .silent, metrics: Metrics()
        )
    }

    /// Writes a mark about dead letters, or about jobs that are resent.
    ///
    /// - Parameters:
    ///   - run: The call that the mark is about, or nil for this call.
    ///   - letters: The offsets of the dead letters.
    /// - Returns: The offset of the mark.
    @discardableResult
    func writeMark(
        _ operation: DeadLetterMark.Operation, phase: DeadLetterMark.Phase, in partition: Int32,
        ofRun run: String? = nil,
        letters: [Int64] = [], jobs: [DeadLetterMark.SheetLines] = []
    ) throws -> Int64 {
        let mark = DeadLetterMark(
            operation, phase: phase, run: run ?? self.run, author: author, at: WallTime.now().milliseconds,
            letterOffsets: letters,
            jobs: jobs)
        if phase == .begun {
            claimDeadline = Instant.now().advanced(byMilliseconds: Self.claimMillisecondsMax)
        }
        let header = DeadLetterRecord.Header(
            name: Array(DeadLetterMark.header.description.utf8), value: Array("1".utf8))
        let record = OutgoingRecord(
            topic: .deadLetters, partition: partition, key: nil, value: mark.encoded(), headers: [header])
        return try storeNow([record])[0]
    }

    func writeAudit(_ action: String, app: String, subject: String) throws {
        let entry = AuditEntry(
            at: WallTime.now().milliseconds, author: author, action: action, app: app, subject: subject)
        let topic = try topic(named: .audit)
        _ = try producer.storeRecord(
            action: "write the audit", in: topic, key: entry.key, value: entry.encoded())
    }

    private func topic(named name: TopicName) throws -> Topic {
        if let known = topics[name] { return known }
        let topic = try producer.topic(named: deadLetters.layout.name(of: name))
        topics[name] = topic
        return topic
    }

    /// Stores all records, each by itself. If it throws, some of them may be stored.
    ///
    /// - Returns: The offset of each record.
    @discardableResult
    func store(_ records: [OutgoingRecord]) throws -> [Int64] {
        if records.isEmpty { return [] }
        try checkClaim()
        return try storeNow(records)
    }

    /// Throws if the call was stopped after its begun mark for so long that another call may have taken over.
    private func checkClaim() throws {
        guard let claimDeadline, Instant.now() > claimDeadline else { return }
        throw ReplayFailure(
            exitStatus: .unavailable,
            description:
                "more than \(Self.claimMillisecondsMax / 1000) s passed between a mark and its records, so they were not sent; call again in a minute"
        )
    }

    private func storeNow(_ records: [OutgoingRecord]) throws -> [Int64] {
        var deliveries: [Delivery] = []
        for (index, record) in records.enumerated() {
            let topic = try topic(named: record.topic)
            var headers = RecordHeaders(record.headers)
            attempts: while true {
                let result = producer.send(
                    to: topic, partition: record.partition, key: record.key?.span, value: record.value?.span,
                    headers: &headers, tag: UInt64(index))
                switch result {
                case .queued: break attempts
                case .full:
                    _ = producer.collectDeliveries(
                        into: &deliveries, waitMilliseconds: Self.fullQueueWaitMilliseconds)
                case .refused(let code), .unusable(let code):
                    throw KafkaError(action: "write to \(topic.name)", code: code, text: code.text)
                }
            }
        }
        _ = producer.flush(withinMilliseconds: Self.flushMilliseconds, into: &deliveries)
        guard deliveries.count == records.count else {
            throw KafkaError(
                action: "write records", code: .timedOut, text: "not all records were acknowledged")
        }
        return try deliveries.sorted { $0.tag < $1.tag }.map { delivery in
            switch delivery.outcome {
            case .stored(let offset): return offset
            case .notStored(let code), .unknown(let code):
                throw KafkaError(action: "write records", code: code, text: code.text)
            }
        }
    }

    /// Sends records in one transaction, to topics that have only transactional writers. There, a plain record
    /// behind the records of a killed transaction would stay hidden until the transaction times out.
    func storeInTransaction(_ records: [OutgoingRecord]) throws {
        if records.isEmpty { return }
        try checkClaim()
        let producer = try transactionalProducer ?? startTransactionalProducer()
        transactionalProducer = producer
        try producer.begin()
        for record in records {
            var headers = RecordHeaders(record.headers)
            let topic = try producer.topic(named: deadLetters.layout.name(of: record.topic))
            let result = producer.send(
                to: topic, partition: record.partition, key: record.key?.span, value: record.value?.span,
                headers: &headers)
            let reason: String
            switch result {
            case .queued: continue
            case .full: reason = "the producer's queue is full"
            case .refused(let code), .unusable(let code): reason = code.text
            }
            try producer.abort()
            throw ReplayFailure(
                exitStatus: .unavailable,
                description:
                    "cannot write to \(topic.name): \(reason); nothing of this batch was sent, so call again")
        }
        try producer.commit()
    }

    /// Starts the transactional producer. All calls use the same transactional id, so two concurrent calls
    /// fence each other.
    private func startTransactionalProducer() throws -> TransactionalProducer {
        let producer = try TransactionalProducer(
            settings: deadLetters.settings, transactionalID: deadLetters.layout.prefix + "replay",
            name: "replay", log: .silent,
            metrics: Metrics())
        try producer.initialize()
        return producer
    }
}

extension RecordHeaders {
    fileprivate init(_ headers: [DeadLetterRecord.Header]) {
        self.init(capacity: headers.count)
        for header in headers { add(named: header.name.span, value: header.value?.span) }
    }
}
