import KafkaTesting
import ProcessTesting
import Telemetry
import Testing

@testable import Kafka

// The statistics, errors, lag and security of clients.

@Test func `the library's statistics become metrics`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1, partitions: 1)
        let metrics = Metrics()
        var options = ConsumerOptions(membership: .manual)
        options.readsOpenTransactions = true
        var deliveries: [Delivery] = []
        let producer = try makeProducer(cluster)
        let topic = try producer.topic(named: "jobs")
        for _ in 0..<5 {
            #expect(producer.put(key: nil, value: "x", to: topic, collecting: &deliveries) == .queued)
        }
        #expect(producer.flush(withinMilliseconds: 10_000, into: &deliveries) == 0)
        let consumer = try Consumer(
            settings: KafkaSettings(cluster), options: options, name: "sender-0", log: .silent,
            metrics: metrics)
        try consumer.assign(startingAt: [
            PartitionStart(partition: TopicPartition("jobs", 0), position: .beginning)
        ])
        var batch = RecordBatch()
        let line = #"flotilla_kafka_consumer_lag{client="sender-0",topic="jobs",partition="0"} 0"#
        // The library reports its statistics every ten seconds.
        #expect(
            try eventually(within: 40_000) {
                _ = consumer.poll(into: &batch, waitMilliseconds: 50)
                return metrics.render().contains(line)
            })
        #expect(metrics.render().contains(#"flotilla_kafka_brokers_up{client="sender-0"}"#))
    }
}

@Test func `an unreachable cluster is logged and counted, and does not end the client`() async throws {
    try await onThread {
        let metrics = Metrics()
        let producer = try Producer(
            settings: KafkaSettings(brokers: ["127.0.0.1:1"]), name: "gateway-0", log: .silent,
            metrics: metrics)
        var deliveries: [Delivery] = []
        #expect(
            try eventually {
                _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: 20)
                return metrics.render().contains(
                    #"flotilla_kafka_client_errors_total{client="gateway-0",code="_ALL_BROKERS_DOWN",fatal="no"}"#
                )
            })
        #expect(producer.fatalError == nil)
    }
}

@Test func `the admin client names the cluster that it cannot reach`() async throws {
    try await onThread {
        let admin = try AdminClient(
            settings: KafkaSettings(brokers: ["127.0.0.1:1"]), log: .silent, metrics: Metrics())
        let error = #expect(throws: KafkaError.self) { try admin.topics(withinMilliseconds: 300) }
        #expect(error?.description.hasPrefix("cannot describe topics: ") == true)
        #expect(
            error?.description.hasSuffix("check that the brokers in kafka.brokers run and can be reached")
                == true)
        let created = #expect(throws: KafkaError.self) {
            try admin.createTopics(
                [NewTopic(name: "jobs", partitionCount: 12, replicationFactor: 1)], withinMilliseconds: 300)
        }
        #expect(created?.code == .timedOut || created?.code == .transport)
    }
}

@Test func `the ends and the lag of a group are reported per partition`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1, partitions: 1)
        var deliveries: [Delivery] = []
        let producer = try makeProducer(cluster)
        let topic = try producer.topic(named: "jobs")
        for _ in 0..<5 {
            #expect(producer.put(key: nil, value: "x", to: topic, collecting: &deliveries) == .queued)
        }
        #expect(producer.flush(withinMilliseconds: 10_000, into: &deliveries) == 0)
        let admin = try AdminClient(settings: KafkaSettings(cluster), log: .silent, metrics: Metrics())
        let jobs = TopicPartition("jobs", 0)
        #expect(try admin.watermarks(of: jobs) == Watermarks(low: 0, high: 5))
        let lag = try admin.lag(of: "nobody", in: [jobs])
        #expect(lag.map(\.recordCount) == [5])
        #expect(lag.map(\.committed.offset) == [nil])
        #expect(try admin.describe("jobs").partitions == [0])
    }
}

@Test func `committed offsets are requested again after the group's coordinator has moved`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1, partitions: 1)
        let admin = try AdminClient(settings: KafkaSettings(cluster), log: .silent, metrics: Metrics())
        let jobs = TopicPartition("jobs", 0)
        cluster.failNext(.offsetFetch, with: .notCoordinator, .notCoordinator)
        #expect(try admin.committedOffsets(by: "nobody", in: [jobs]).map(\.offset) == [nil])
    }
}

@Test func `a client with TLS settings never talks to a broker without TLS`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        let metrics = Metrics()
        var settings = KafkaSettings(cluster)
        settings.security = .tls
        let producer = try Producer(settings: settings, name: "gateway-0", log: .silent, metrics: metrics)
        let topic = try producer.topic(named: "jobs")
        var deliveries: [Delivery] = []
        #expect(producer.send(to: topic, partition: 0, key: nil, value: nil, tag: 1) == .queued)
        let isUnreachable = try eventually {
            _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: 20)
            return metrics.render().contains(#"code="_ALL_BROKERS_DOWN""#)
        }
        #expect(isUnreachable && deliveries.isEmpty)
        #expect(producer.fatalError == nil)
    }
}

@Test func `the library accepts every security protocol of the settings`() throws {
    let directory = try TemporaryDirectory()
    for security in KafkaSettings.SecurityProtocol.allCases {
        for scram in KafkaSettings.SCRAMMechanism.allCases {
            var settings = KafkaSettings(brokers: ["127.0.0.1:1"])
            settings.security = security
            settings.scramMechanism = scram
            if security.usesSCRAM {
                settings.user = "flotilla"
                settings.passwordFile = try directory.writeFile(named: "password", content: "secret\n")
            }
            _ = try Producer(settings: settings, name: "test", log: .silent, metrics: Metrics())
        }
    }
}
