internal import Kafka
internal import KafkaTesting
internal import Registry
internal import Store
internal import Telemetry

/// A measurement of a lane that a consumer restores from a given cluster, or from the embedded broker. That
/// broker runs in the same process and uses its share of the processor.
enum RegistryKafkaBenchmark {
    static func run(rows: RegistryRows, limit: Int, directory: String, brokers: [String]?) throws {
        let count = min(rows.count, limit)
        let cluster = try TestCluster(runningBrokers: brokers)
        let name = "bench-registry-\(UInt32.random(in: 0 ... .max))"
        let settings = KafkaSettings(brokers: cluster.brokers)
        let admin = try AdminClient(settings: settings, name: "bench", log: .silent, metrics: Metrics())
        _ = try admin.createTopics([NewTopic(name: name, partitionCount: 1, replicationFactor: 1)])
        defer { _ = try? admin.deleteTopics([name]) }
        try admin.waitForLeaders(of: [name], withinMilliseconds: 30_000)
        try produce(rows, count: count, settings: settings, topic: name)
        let lane = try RegistryBenchmark.openLane(at: directory + "/lane-through-kafka")
        let consumer = try Consumer(
            settings: settings, options: ConsumerOptions(membership: .manual), name: "bench", log: .silent,
            metrics: Metrics())
        var batch = RecordBatch()
        let usage = try Usage.measure {
            let restore = LaneRestore(lane: lane)
            try consumer.assign(startingAt: [
                PartitionStart(partition: TopicPartition(name, 0), position: .beginning)
            ])
            var read = 0
            while read < count {
                _ = consumer.poll(into: &batch, waitMilliseconds: 100)
                for index in 0..<batch.count {
                    let record = batch[index]
                    try restore.add(key: record.key, value: record.value, offset: record.offset)
                }
                read += batch.count
            }
            try restore.finish(AppliedProgress(offset: Int64(count), completeUntil: .now()))
        }
        try lane.close()
        _ = consumer.close()
        RegistryBenchmark.printRate(
            name: "restore of \(grouped(Double(count))) rows through Kafka, "
                + (brokers == nil ? "broker in the same process" : "given cluster"),
            rate: Double(count) / usage.seconds, target: 200_000, unit: "rows")
    }

    private static func produce(
        _ rows: RegistryRows, count: Int, settings: KafkaSettings, topic: String
    ) throws {
        let producer = try Producer(
            settings: settings, options: ProducerOptions(), name: "bench", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: topic)
        var deliveries: [Delivery] = []
        var stored = 0
        func countStored() {
            for delivery in deliveries where delivery.isStored { stored += 1 }
            deliveries.removeAll(keepingCapacity: true)
        }
        rows.forEachRow(limit: count) { key, value, offset in
            while producer.send(to: topic, partition: 0, key: key, value: value, tag: UInt64(offset)) == .full
            {
                while producer.collectDeliveries(
                    into: &deliveries, waitMilliseconds: deliveries.isEmpty ? 10 : 0)
                {}
                countStored()
            }
        }
        let left = producer.flush(withinMilliseconds: 60_000, into: &deliveries)
        countStored()
        if left != 0 || stored != count {
            throw BenchmarkFailure("\(stored) of \(count) records were stored")
        }
    }
}
