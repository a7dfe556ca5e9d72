internal import CKafkaPeer
internal import Kafka
internal import KafkaTesting
internal import Telemetry

/// A comparison of module `Kafka` with the same calls of librdkafka in C: records of 1 KiB over four partitions,
/// produced and consumed in turns in one process. The mock cluster runs in a separate process.
enum KafkaBenchmark {
    /// The wanted rate, as a share of the rate of the calls in C.
    private static let rateShareWanted = 0.9

    /// A record begins with its number, which has 8 bytes. librdkafka refuses messages above 1 MB.
    private static let recordBytesValid = 8...900_000

    /// The costs of the same work with module `Kafka` and in C, one element for each round.
    private struct Comparison {
        var swift: [Usage] = []
        var c: [Usage] = []
    }

    private struct Options {
        var records = 400_000
        var recordBytes = 1024
        var rounds = 7
        var servesMock = false

        init(parsing arguments: [String]) throws {
            var reader = OptionReader(arguments)
            while let name = reader.nextName() {
                switch name {
                case "--serve-mock": servesMock = true
                case "--records": records = try reader.numberAboveZero(of: name)
                case "--size": recordBytes = try reader.numberAboveZero(of: name)
                case "--rounds": rounds = try reader.numberAboveZero(of: name)
                default: throw BenchmarkFailure.unknownOption(name)
                }
            }
            guard KafkaBenchmark.recordBytesValid.contains(recordBytes) else {
                throw BenchmarkFailure(
                    "--size must be \(KafkaBenchmark.recordBytesValid.lowerBound) to "
                        + "\(KafkaBenchmark.recordBytesValid.upperBound)")
            }
        }
    }

    static func run(arguments: [String]) throws {
        let options = try Options(parsing: arguments)
        if options.servesMock { return try MockClusterProcess.serve() }
        let mock = try MockClusterProcess()
        let count = grouped(Double(options.records))
        print(
            "kafka: \(count) records of \(options.recordBytes) bytes over 4 partitions, librdkafka's mock cluster"
        )
        print("in a separate process; \(options.rounds) rounds, Swift and C in turns, medians")
        print(
            "$ flotilla-bench kafka --records \(options.records) --size \(options.recordBytes) --rounds \(options.rounds)"
        )
        for compression in ["zstd", "none"] {
            try compareProducing(compression: compression, options: options, brokers: mock.brokers)
            try compareConsuming(compression: compression, options: options, brokers: mock.brokers)
        }
    }

    private static func compareProducing(compression: String, options: Options, brokers: String) throws {
        var comparison = Comparison()
        for _ in 0..<options.rounds {
            comparison.swift.append(
                try Usage.measure {
                    try produceInSwift(
                        to: "produce-\(compression)", compression: compression, count: options.records,
                        size: options.recordBytes, brokers: brokers)
                })
            comparison.c.append(
                try Usage.measure {
                    let acknowledged = unsafe kafka_peer_produce(
                        brokers, "produce-\(compression)", compression, Int64(options.records),
                        options.recordBytes)
                    if acknowledged != options.records {
                        throw BenchmarkFailure("C delivered \(acknowledged)")
                    }
                })
        }
        printComparison(comparison, name: "produce, \(compression)", records: options.records)
    }

    private static func produceInSwift(
        to topic: String, compression: String, count: Int, size: Int, brokers: String
    ) throws {
        var settings = ProducerOptions()
        settings.compression = compression == "none" ? .none : .zstd
        let producer = try Producer(
            settings: KafkaSettings(brokers: [brokers]), options: settings, name: "bench", log: .silent,
            metrics: Metrics())
        let topic = try producer.topic(named: topic)
        var value = [UInt8](repeating: 0x78, count: size)
        var deliveries: [Delivery] = []
        var stored = 0
        func countStored() {
            for delivery in deliveries where delivery.isStored { stored += 1 }
            deliveries.removeAll(keepingCapacity: true)
        }
        for index in 0..<count {
            unsafe value.withUnsafeMutableBytes { unsafe $0.storeBytes(of: index, as: Int.self) }
            while producer.send(
                to: topic, partition: Int32(index & 3), key: value.span.extracting(0..<8), value: value.span,
                tag: UInt64(index)) == .full
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
        if unsent != 0 || stored != count { throw BenchmarkFailure("Swift delivered \(stored) of \(count)") }
    }

    /// Measures reading. The mock keeps only 5 MiB of a partition, so records that compress badly are read
    /// several times.
    private static func compareConsuming(compression: String, options: Options, brokers: String) throws {
        // 3.5 MB of records are safely less than the 5 MiB that the mock keeps of each of the 4 partitions.
        let recordsKept =
            compression == "none"
            ? min(options.records, 4 * 3_500_000 / options.recordBytes) : options.records
        let passes = max(1, options.records / recordsKept)
        let topic = "consume-\(compression)"
        try produceInSwift(
            to: topic, compression: compression, count: recordsKept, size: options.recordBytes,
            brokers: brokers)
        let reader = try SwiftReader(brokers: brokers)
        let peer = unsafe kafka_peer_reader_new(brokers)
        defer { unsafe kafka_peer_reader_destroy(peer) }
        var comparison = Comparison()
        // One round more than asked for: the first one opens the connections, and is dropped below.
        for _ in 0...options.rounds {
            var swiftSum: Int64 = 0
            var cSum: Int64 = 0
            comparison.swift.append(
                try Usage.measure {
                    for _ in 0..<passes { swiftSum += try reader.read(from: topic, count: recordsKept) }
                })
            comparison.c.append(
                Usage.measure {
                    for _ in 0..<passes { cSum += unsafe kafka_peer_read(peer, topic, Int64(recordsKept)) }
                })
            if swiftSum != cSum { throw BenchmarkFailure("Swift read \(swiftSum), C \(cSum)") }
        }
        comparison.swift.removeFirst()
        comparison.c.removeFirst()
        printComparison(comparison, name: "consume, \(compression)", records: recordsKept * passes)
    }

    private final class SwiftReader {
        private let consumer: Consumer
        private var batch = RecordBatch()

        init(brokers: String) throws {
            var options = ConsumerOptions(membership: .manual)
            options.readsOpenTransactions = true
            options.fetchWaitMilliseconds = 10
            consumer = try Consumer(
                settings: KafkaSettings(brokers: [brokers]), options: options, name: "bench", log: .silent,
                metrics: Metrics())
        }

        /// Returns the sum of each value's length and first byte, to compare with the calls in C.
        func read(from topic: String, count: Int) throws -> Int64 {
            try consumer.assign(
                startingAt: (0..<4).map {
                    PartitionStart(partition: TopicPartition(topic, $0), position: .beginning)
                })
            var sum = 0
            var recordsRead = 0
            var emptyPolls = 0
            while recordsRead < count, emptyPolls < 100 {
                _ = consumer.poll(into: &batch, waitMilliseconds: 100)
                if batch.isEmpty { emptyPolls += 1 }
                recordsRead += batch.count
                for index in 0..<batch.count {
                    if let value = batch[index].value { sum += value.count + Int(value[0]) }
                }
            }
            return Int64(sum)
        }
    }

    private static func printComparison(_ comparison: Comparison, name: String, records: Int) {
        func medianRate(_ usages: [Usage]) -> Double { usages.map { Double(records) / $0.seconds }.median }
        func medianCost(_ usages: [Usage]) -> Double {
            usages.map(\.processorSeconds).median / Double(records) * 100_000
        }
        let (swiftRate, cRate) = (medianRate(comparison.swift), medianRate(comparison.c))
        let (swiftCost, cCost) = (medianCost(comparison.swift), medianCost(comparison.c))
        func twoDecimals(_ value: Double) -> Double { (value * 100).rounded() / 100 }
        func threeDecimals(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
        print(
            "  \(name): Swift \(grouped(swiftRate)) records a second, C \(grouped(cRate)): "
                + "\(twoDecimals(swiftRate / cRate)) of its rate, \(rateShareWanted) wanted")
        print(
            "    processor per 100,000: Swift \(threeDecimals(swiftCost)) s, C \(threeDecimals(cCost)) s, "
                + "ratio \(twoDecimals(swiftCost / cCost))")
    }
}
