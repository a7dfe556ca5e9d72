internal import Kafka
internal import KafkaTesting
internal import Registry
internal import Store
internal import Telemetry

/// A measurement of a lane that a consumer restores from a running cluster, or from an embedded broker. That
/// broker runs in this process, so its processor time counts.
enum RegistryKafkaBenchmark {
    static func run(rows: RegistryRows, limit: Int, directory: String, brokers: [String]?) throws {
        let count = min(rows.count, limit)
        let cluster = try TestCluster(runningBrokers: brokers)
        let topic = "bench-registry-\(UInt32.random(in: 0 ... .max))"
        let settings = KafkaSettings(brokers: cluster.brokers)
        let admin = try AdminClient(settings: settings, name: "bench", log: .silent, metrics: Metrics())
        _ = try admin.createTopics([NewTopic(name: topic, partitionCount: 1, replicationFactor: 1)])
        defer { _ = try? admin.deleteTopics([topic]) }
        try admin.waitForLeaders(of: [topic], withinMilliseconds: 30_000)
        try produce(rows, count: count, settings: settings, topic: topic)
        let lane = try RegistryBenchmark.openLane(at: directory + "/lane-through-kafka")
        let consumer = try Consumer(
            settings: settings, options: ConsumerOptions(membership: .manual), name: "bench", log: .silent,
            metrics: Metrics())
        var batch = RecordBatch()
        let usage = try Usage.measure {
            let restore = LaneRestore(lane: lane)
            try consumer.assign(startingAt: [
                PartitionStart(partition: TopicPartition(topic, 0), position: .beginning)
            ])
            var recordsRead = 0
            while recordsRead < count {
                _ = consumer.poll(into: &batch, waitMilliseconds: 100)
                for index in 0..<batch.count {
                    let record = batch[index]
                    try restore.add(key: record.key, value: record.value, offset: record.offset)
                }
                recordsRead += batch.count
            }
            try restore.finish(AppliedProgress(offset: Int64(count), completeUntil: .now()))
        }
        try lane.close()
        _ = consumer.close()
        RegistryBenchmark.printRate(
            name: "restore of \(grouped(Double(count))) rows through Kafka, "
                + (brokers == nil ? "broker in the same process" : "given cluster"),
            rate: Double(count) / usage.seconds, target: RegistryBenchmark.restoreRateTarget, unit: "rows")
    }

    private static func produce(
        _ rows: RegistryRows, count: Int, settings: KafkaSettings, topic name: String
    ) throws {
        let producer = try Producer(
            settings: settings, options: ProducerOptions(), name: "bench", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: name)
        var deliveries: [Delivery] = []
        var stored = 0
        func countStored() {
            for delivery in deliveries where delivery.isStored { stored += 1 }
            deliveries.removeAll(keepingCapacity: true)
        }
        rows.forEachRow(limit: count) { key, value, offset in
            while producer.send(to: topic, partition: 0, key: key, value: value, tag: UInt64(offset)) == .full
            {
                // The producer is full. Records leave it when they are acknowledged.
                while producer.collectDeliveries(
                    into: &deliveries, waitMilliseconds: deliveries.isEmpty ? 10 : 0)
                {}
                countStored()
            }
        }
        let unsent = producer.flush(withinMilliseconds: 60_000, into: &deliveries)
        countStored()
        if unsent != 0 || stored != count {
            throw BenchmarkFailure("\(stored) of \(count) records were stored")
        }
    }
}
