import Broker
import Kafka
import Lifecycle
import Telemetry
import Testing

/// A leader that is none for a moment, again and again, by a seed.
///
/// The mock cannot be asked this. It keeps no sequences, so it takes a batch although the one before it was
/// refused; the library knows that a broker would not, counts the earlier one as stored, and it is lost.
private struct StrayingLeader: BrokerWeather {
    private static let strayingOneIn = 4
    private let numbers: TracedLock<SplitMix64>

    init(seed: UInt64) { numbers = TracedLock(SplitMix64(state: seed)) }

    func created(_ topic: String, at now: Instant) {}
    func lingersMilliseconds(_ topic: String, at now: Instant) -> Int { 0 }
    func sight(of topic: String, at now: Instant) -> TopicSight { .whole }
    func refusal(by coordinator: CoordinatorCall, at now: Instant) -> Broker.ErrorCode? { nil }

    func refusal(byLeaderOf topic: String, _ partition: Int32, at now: Instant) -> Broker.ErrorCode? {
        let isAstray = numbers.withLock { Int.random(in: 0..<Self.strayingOneIn, using: &$0) == 0 }
        return isAstray ? .notLeaderOrFollower : nil
    }
}

@Test func `a leader that moves in the middle loses and doubles nothing`() async throws {
    try await onThread {
        let seed = UInt64.random(in: 0...UInt64.max)
        var settings = try BrokerSettings.temporary()
        settings.weather = StrayingLeader(seed: seed)
        let broker = try RunningBroker(settings)
        defer { broker.stop() }
        var kafka = KafkaSettings(brokers: ["127.0.0.1:\(broker.port)"])
        kafka.properties = ["topic.metadata.refresh.fast.interval.ms": "20", "retry.backoff.ms": "5"]
        let admin = try Admin(kafka, log: .silent, metrics: Metrics())
        _ = try admin.create([NewTopic("jobs", partitions: 1, replication: 1)])
        var options = ProducerOptions()
        options.lingerMilliseconds = 0
        let producer = try Producer(kafka, options, name: "test", log: .silent, metrics: Metrics())
        let topic = try producer.topic("jobs")
        var deliveries: [Delivery] = []
        // A broker takes any number for the first of a producer that it has not seen: so the first one comes alone.
        #expect(producer.put(topic, partition: 0, nil, "0", collecting: &deliveries) == .queued)
        #expect(producer.flush(withinMilliseconds: 30_000, into: &deliveries) == 0)
        for index in 1..<300 {
            #expect(producer.put(topic, partition: 0, nil, "\(index)", collecting: &deliveries) == .queued)
            if index % 10 == 0 { _ = producer.collect(into: &deliveries, waitMilliseconds: 1) }
        }
        #expect(producer.flush(withinMilliseconds: 30_000, into: &deliveries) == 0)
        #expect(deliveries.count == 300 && deliveries.allSatisfy { $0.isStored })
        let reader = try Consumer(
            kafka, ConsumerOptions(.manual), name: "test", log: .silent, metrics: Metrics())
        defer { _ = reader.close() }
        try reader.assign([PartitionStart(TopicPartition("jobs", 0), .beginning)])
        let values = try reader.read(300).compactMap(\.value)
        #expect(values == (0..<300).map(String.init), "seed \(seed)")
    }
}
