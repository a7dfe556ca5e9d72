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
        send(by: producer, to: topic, number: 0, whenFull: { collect(waitMilliseconds: 1) })
        while stored < 1 { collect(waitMilliseconds: 10) }
        let start = Instant.now()
        for number in 0..<count {
            send(by: producer, to: topic, number: number, whenFull: { collect(waitMilliseconds: 1) })
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

    /// Records of each partition in one pass of `measureConsuming`. With 1 KiB each they are less than the 5 MiB that
    /// the mock keeps of a partition.
    private static let recordsPerPassAndPartition = 3_500
    /// The time without a record after which a read has failed.
    private static let readMillisecondsMax = 30_000

    /// Returns records per second from the assignment on, after a first pass that opens the connection. Reads the same
    /// records again and again until it has read enough, because the mock keeps only the newest ones.
    func measureConsuming(recordCount count: Int) throws -> Double {
        let consumer = try makeConsumer()
        let recordsPerPass = min(count, Self.recordsPerPassAndPartition * shape.partitions)
        _ = try read(atLeast: recordsPerPass, with: consumer)
        var measuredRecords = 0
        var seconds = 0.0
        while measuredRecords < count {
            let start = Instant.now()
            measuredRecords += try read(atLeast: recordsPerPass, with: consumer)
            seconds += Instant.now().seconds(since: start)
        }
        return Double(measuredRecords) / seconds
    }

    /// Reads all records of the topic once, which are `count`. Returns records per second.
    func measureReading(recordCount count: Int) throws -> Double {
        let consumer = try makeConsumer()
        let start = Instant.now()
        let recordsRead = try read(atLeast: count, with: consumer)
        return Double(recordsRead) / Instant.now().seconds(since: start)
    }

    private func makeConsumer() throws -> Consumer {
        var options = ConsumerOptions(membership: .manual)
        options.outOfRange = .earliest
        options.readsOpenTransactions = true
        options.prefetchKibibytesMax = 65_536
        return try Consumer(
            settings: settings, options: options, name: "bench", log: .silent, metrics: Metrics())
    }

    /// Reads from the beginning of all partitions. Returns the number of records.
    private func read(atLeast count: Int, with consumer: Consumer) throws -> Int {
        let partitions = (0..<shape.partitions).map { TopicPartition(BrokerShape.topic, Int32($0)) }
        try consumer.assign(
            startingAt: partitions.map { PartitionStart(partition: $0, position: .beginning) })
        var batch = RecordBatch()
        defer { batch.clear() }
        var recordsRead = 0
        var limit = Instant.now().advanced(byMilliseconds: Self.readMillisecondsMax)
        while recordsRead < count {
            _ = consumer.poll(into: &batch, waitMilliseconds: 100)
            recordsRead += batch.count
            if batch.count > 0 { limit = Instant.now().advanced(byMilliseconds: Self.readMillisecondsMax) }
            guard Instant.now() < limit else {
                throw BenchmarkFailure("read \(recordsRead) of \(count) records")
            }
        }
        return recordsRead
    }

    /// Returns records per second in transactions of 1,000 records.
    func measureTransactions(transactionCount count: Int) throws -> Double {
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
