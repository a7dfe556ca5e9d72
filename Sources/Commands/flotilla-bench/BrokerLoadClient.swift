internal import Kafka
internal import Lifecycle
internal import Telemetry

/// The client of the broker benchmarks, which is the same for every server.
struct BrokerLoadClient {
    private let settings: KafkaSettings
    private let shape: BrokerShape
    /// Different records, half of each incompressible, like JSON with tokens in it.
    private let values: [[UInt8]]

    init(address: String, shape: BrokerShape, recordBytes: Int) {
        settings = KafkaSettings(brokers: [address])
        self.shape = shape
        var generator = SystemRandomNumberGenerator()
        let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789{}:,\"".utf8)
        let common = (0..<recordBytes / 2).map { _ in
            letters[Int(generator.next(upperBound: UInt64(letters.count)))]
        }
        values = (0..<256).map { _ in
            common + (0..<recordBytes - recordBytes / 2).map { _ in UInt8.random(in: 0...255) }
        }
    }

    private var options: ProducerOptions {
        var options = ProducerOptions()
        options.compression = shape.compression
        return options
    }

    /// Returns records per second, from the first send to the last acknowledgement.
    func measureProducing(recordCount count: Int) throws -> Double {
        let producer = try Producer(
            settings: settings, options: options, name: "bench", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: BrokerShape.topic)
        var deliveries: [Delivery] = []
        var stored = 0
        func collect(waitMilliseconds: Int32) {
            deliveries.removeAll(keepingCapacity: true)
            _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: waitMilliseconds)
            stored += deliveries.count { $0.isStored }
        }
        // The first record opens the connection and gets the producer id, so it is not measured.
        send(by: producer, to: topic, number: 0) { collect(waitMilliseconds: 1) }
        while stored < 1 { collect(waitMilliseconds: 10) }
        let start = Instant.now()
        for number in 0..<count {
            send(by: producer, to: topic, number: number) { collect(waitMilliseconds: 1) }
            if number % 1_000 == 0 { collect(waitMilliseconds: 0) }
        }
        let limit = Instant.now().advanced(byMilliseconds: 60_000)
        while stored < count + 1, Instant.now() < limit { collect(waitMilliseconds: 10) }
        let seconds = Instant.now().seconds(since: start)
        guard stored == count + 1 else {
            throw BenchmarkFailure("\(count + 1 - stored) records were not stored")
        }
        return Double(count) / seconds
    }

    private func send(by producer: Producer, to topic: Topic, number: Int, whenFull: () -> Void) {
        let value = values[number % values.count]
        let partition = Int32(number % shape.partitions)
        while producer.send(
            to: topic, partition: partition, key: nil, value: value.span, tag: 0) == .full
        {
            whenFull()
        }
    }

    /// Returns records per second from the assignment on, after a first pass that opens the connection. Reads
    /// again from the beginning until it has read enough, because the mock keeps only the newest 5 MiB of a
    /// partition.
    func measureConsuming(recordCount count: Int) throws -> Double {
        var options = ConsumerOptions(membership: .manual)
        options.outOfRange = .earliest
        options.readsOpenTransactions = true
        options.prefetchKibibytesMax = 65_536
        let consumer = try Consumer(
            settings: settings, options: options, name: "bench", log: .silent, metrics: Metrics())
        let partitions = (0..<shape.partitions).map { TopicPartition(BrokerShape.topic, Int32($0)) }
        var batch = RecordBatch()
        var measuredRecords = 0
        var seconds = 0.0
        // 3,500 records of 1 KiB are less than the 5 MiB that the mock keeps of a partition.
        let recordsPerPass = min(count, 3_500 * shape.partitions)
        var isFirst = true
        while measuredRecords < count {
            let start = Instant.now()
            try consumer.assign(
                startingAt: partitions.map { PartitionStart(partition: $0, position: .beginning) })
            var readInPass = 0
            let limit = start.advanced(byMilliseconds: 30_000)
            while readInPass < recordsPerPass {
                _ = consumer.poll(into: &batch, waitMilliseconds: 100)
                readInPass += batch.count
                guard Instant.now() < limit else {
                    throw BenchmarkFailure("read \(readInPass) of \(recordsPerPass) records")
                }
            }
            if !isFirst {
                seconds += Instant.now().seconds(since: start)
                measuredRecords += readInPass
            }
            isFirst = false
        }
        batch.clear()
        return Double(measuredRecords) / seconds
    }

    /// Returns records per second in transactions of 1,000 records.
    func measureTransactions(count: Int) throws -> Double {
        let producer = try TransactionalProducer(
            settings: settings, options: options, transactionalID: "bench", name: "bench", log: .silent,
            metrics: Metrics())
        let topic = try producer.topic(named: BrokerShape.topic)
        try producer.initialize()
        try producer.connectToLeaders(of: [topic])
        let start = Instant.now()
        for _ in 0..<count {
            try producer.begin()
            for number in 0..<1_000 {
                let value = values[number % values.count]
                let result = producer.send(
                    to: topic, partition: Int32(number % shape.partitions), key: nil, value: value.span)
                guard result == .queued else { throw BenchmarkFailure("a record was \(result)") }
            }
            try producer.commit()
        }
        return Double(count * 1_000) / Instant.now().seconds(since: start)
    }
}
