import Broker
import Kafka
import Lifecycle
import Telemetry
import Testing

/// A leader that refuses to lead for a moment, again and again, by a seed.
///
/// The mock cannot test this. It keeps no sequence numbers, so it accepts a batch although it refused the
/// previous one. The library assumes that a broker would not, and counts the earlier batch as stored. That
/// batch is lost.
private struct StrayingLeader: ClusterDelays {
    /// One in this many requests is refused.
    private static let strayingOneIn = 4
    private let random: TracedLock<SplitMix64>

    init(seed: UInt64) { random = TracedLock(SplitMix64(state: seed)) }

    func topicWasCreated(_ topic: String, at now: Instant) {}
    func deletionDelayMilliseconds(ofTopic topic: String, at now: Instant) -> Int { 0 }
    func visibility(of topic: String, at now: Instant) -> TopicVisibility { .whole }
    func refusal(ofAppendTo topic: String, partition: Int32, at now: Instant) -> Broker.ErrorCode? { nil }
    func refusal(by coordinator: CoordinatorCall, at now: Instant) -> Broker.ErrorCode? { nil }

    func refusal(byLeaderOf topic: String, partition: Int32, at now: Instant) -> Broker.ErrorCode? {
        let isAstray = random.withLock { Int.random(in: 0..<Self.strayingOneIn, using: &$0) == 0 }
        return isAstray ? .notLeaderOrFollower : nil
    }
}

/// A cluster with a straying broker. Its topic has one partition per round, so that the producer is new to
/// each.
private struct StrayingCluster {
    let seed = UInt64.random(in: 0...UInt64.max)
    let broker: RunningBroker
    let kafka: KafkaSettings

    init(partitions: Int = 1) throws {
        var settings = try BrokerSettings.temporary()
        settings.clusterDelays = StrayingLeader(seed: seed)
        broker = try RunningBroker(settings: settings)
        var kafka = KafkaSettings(brokers: ["127.0.0.1:\(broker.port)"])
        kafka.properties = ["topic.metadata.refresh.fast.interval.ms": "20", "retry.backoff.ms": "5"]
        self.kafka = kafka
        let admin = try AdminClient(settings: kafka, log: .silent, metrics: Metrics())
        _ = try admin.createTopics([NewTopic(name: "jobs", partitionCount: partitions, replicationFactor: 1)])
    }

    func producer() throws -> Producer {
        var options = ProducerOptions()
        options.lingerMilliseconds = 0
        return try Producer(settings: kafka, options: options, name: "test", log: .silent, metrics: Metrics())
    }

    /// Returns the readable values of each partition.
    func values(of partitions: Int) throws -> [[String]] {
        let reader = try Consumer(
            settings: kafka, options: ConsumerOptions(membership: .manual), name: "test", log: .silent,
            metrics: Metrics())
        defer { _ = reader.close() }
        let allPartitions = (0..<Int32(partitions)).map { TopicPartition("jobs", $0) }
        try reader.assign(
            startingAt: allPartitions.map { PartitionStart(partition: $0, position: .beginning) })
        var batch = RecordBatch()
        var records: [RecordCopy] = []
        var partitionsAtEnd: Set<TopicPartition> = []
        _ = try eventually(within: 20_000) {
            for case .reachedEnd(let partition, _) in reader.read(&batch, into: &records) {
                partitionsAtEnd.insert(partition)
            }
            return partitionsAtEnd.count == partitions
        }
        #expect(partitionsAtEnd.count == partitions)
        return allPartitions.map { partition in
            records.filter { $0.partition == partition.partition }.compactMap(\.value)
        }
    }
}

@Test func `a leader that moves while records are sent loses and duplicates nothing`() async throws {
    try await onThread {
        let cluster = try StrayingCluster()
        defer { cluster.broker.stop() }
        let producer = try cluster.producer()
        let topic = try producer.topic(named: "jobs")
        var deliveries: [Delivery] = []
        // A loss at a producer's first batch is reported as unknown. So the first record is sent alone.
        #expect(
            producer.put(key: nil, value: "0", to: topic, partition: 0, collecting: &deliveries) == .queued)
        #expect(producer.flush(withinMilliseconds: 30_000, into: &deliveries) == 0)
        for index in 1..<300 {
            #expect(
                producer.put(key: nil, value: "\(index)", to: topic, partition: 0, collecting: &deliveries)
                    == .queued)
            if index % 10 == 0 { _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: 1) }
        }
        #expect(producer.flush(withinMilliseconds: 30_000, into: &deliveries) == 0)
        #expect(deliveries.count == 300 && deliveries.allSatisfy { $0.isStored })
        let values = try cluster.values(of: 1)
        #expect(values == [(0..<300).map(String.init)], "seed \(cluster.seed)")
    }
}

/// A broker accepts any sequence number in the first batch of a producer that is new to the partition.
@Test func `a record of a new producer that the leader refused is not reported as stored`() async throws {
    try await onThread {
        let (rounds, count) = (60, 200)
        let cluster = try StrayingCluster(partitions: rounds)
        defer { cluster.broker.stop() }
        // The producer is already connected, so that a partition's second batch does not wait for its first.
        let producer = try cluster.producer()
        let topic = try producer.topic(named: "jobs")
        var storedTags: [[String]] = []
        for round in 0..<rounds {
            var deliveries: [Delivery] = []
            for index in 0..<count {
                #expect(
                    producer.put(
                        key: nil, value: "\(index)", to: topic, partition: Int32(round), tag: UInt64(index),
                        collecting: &deliveries) == .queued)
                _ = producer.collectDeliveries(into: &deliveries)
            }
            #expect(producer.flush(withinMilliseconds: 30_000, into: &deliveries) == 0)
            #expect(deliveries.count == count)
            storedTags.append(deliveries.filter(\.isStored).map { "\($0.tag)" })
        }
        for (round, values) in try cluster.values(of: rounds).enumerated() {
            let lost = Set(storedTags[round]).subtracting(values)
            #expect(lost.isEmpty, "seed \(cluster.seed), round \(round)")
            #expect(Set(values).count == values.count, "seed \(cluster.seed), round \(round)")
        }
    }
}
