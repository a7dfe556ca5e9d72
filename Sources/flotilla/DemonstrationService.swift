internal import Glibc
internal import Kafka
internal import Lifecycle
internal import Telemetry

/// What `flotilla up --demo` shows, on the installation that it has just started and with the parts
/// that the stages use: that acknowledged records are there, that a transaction is all or nothing, and
/// how long that takes here. It says what is not built yet.
struct DemonstrationService: Service {
    let name = "demonstration"
    let data: String
    let slot: Slot
    let broker: BrokerAddress
    let admin: AdminService

    private static let topic = "flotilla.demonstration"
    private static let records = 1000

    func start(_ context: ServiceContext) async throws {
        let brokers = broker.value
        let settings = KafkaSettings(brokers: [brokers])
        let admin = try Admin(settings, log: .silent, metrics: context.metrics)
        _ = try admin.create([
            NewTopic(Self.topic, partitions: 1, replication: 1, configuration: ["retention.ms": "86400000"])
        ])
        let place = TopicPartition(Self.topic, 0)
        let before = try admin.watermarks(of: place).high
        let producer = try TransactionalProducer(
            settings, transactionalID: slot.identity(stage: "demonstration", loop: 0), name: "demonstration",
            log: .silent, metrics: context.metrics)
        try producer.initialise()
        let topic = try producer.topic(Self.topic)
        try producer.warmUp([topic])
        let began = Instant.now()
        try write("match-42 is now 1:0", to: topic, by: producer)
        try producer.commit()
        let seconds = Instant.now().seconds(since: began)
        try write("match-42 is now 9:9, which never happened", to: topic, by: producer)
        try deliver(producer)
        try producer.abort()
        let seen = try read(place, from: before, settings, context.metrics)
        report(brokers, seen, seconds)
    }

    func stop(by deadline: Instant) async {}

    private func write(_ words: String, to topic: Topic, by producer: TransactionalProducer) throws {
        try producer.begin()
        let value = Array(words.utf8)
        for _ in 0..<Self.records {
            guard producer.send(to: topic, partition: 0, key: nil, value: value.span) == .queued else {
                throw Refusal(status: .unavailable, "the embedded broker takes no records")
            }
        }
    }

    /// The records to be aborted must have reached the broker, or nothing would be shown.
    private func deliver(_ producer: TransactionalProducer) throws {
        let limit = Instant.now().advanced(byMilliseconds: 5000)
        while producer.outstanding > 0 {
            guard Instant.now() < limit else {
                throw Refusal(status: .unavailable, "the embedded broker did not take the records in 5 s")
            }
            producer.serve()
            usleep(1000)
        }
    }

    /// Every record up to the end that a reader of committed records sees.
    private func read(
        _ place: TopicPartition, from first: Int64, _ settings: KafkaSettings, _ metrics: Metrics
    ) throws -> [String: Int] {
        let consumer = try Consumer(
            settings, ConsumerOptions(.manual), name: "demonstration", log: .silent, metrics: metrics)
        defer { _ = consumer.close() }
        try consumer.assign([PartitionStart(place, .offset(first))])
        var seen: [String: Int] = [:]
        var batch = RecordBatch()
        let limit = Instant.now().advanced(byMilliseconds: 15_000)
        while Instant.now() < limit {
            let events = consumer.poll(into: &batch, waitMilliseconds: 100)
            for index in 0..<batch.count {
                if let value = batch[index].value { seen[text(value), default: 0] += 1 }
            }
            if events.contains(where: { if case .end = $0 { true } else { false } }) { return seen }
        }
        throw Refusal(status: .unavailable, "the embedded broker did not give back what was written in 15 s")
    }

    private func text(_ bytes: Span<UInt8>) -> String {
        unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    private func report(_ brokers: String, _ seen: [String: Int], _ seconds: Double) {
        let milliseconds = (seconds * 10_000).rounded() / 10
        print(
            """

            Flotilla is up. A Kafka broker of its own serves at \(brokers), its data in \(data).

              committed   \(Self.records) records in one transaction, on disk after \(milliseconds) ms
              aborted     \(Self.records) records in another one
              read back   \(seen.map { "\($0.value) × “\($0.key)”" }.sorted().joined(separator: ", "))

            Try it:       kcat -b \(brokers) -t \(Self.topic) -C -o beginning -c 3
            Watch it:     curl -s http://\(admin.address)/metrics
            Stop it:      Ctrl-C; what was acknowledged is there at the next start.

            Not built yet: the stages that turn reports and sends into pushes. This is the ground they stand on.

            """)
        // Whoever reads through a pipe shall see it now, and not when the process ends.
        fflush(nil)
    }
}
