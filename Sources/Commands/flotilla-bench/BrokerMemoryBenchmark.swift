internal import Foundation
internal import Kafka

/// A proof that the broker's memory does not grow with its data: it stays below a limit while 10 GiB are written, and
/// after a restart while all of them are read.
enum BrokerMemoryBenchmark {
    private static let recordCount = 10 * 1024 * 1024
    private static let recordBytes = 1_024
    private static let memoryMiBMax = 150

    static func run() throws {
        let shape = BrokerShape(compression: .none, partitions: 12)
        let broker = try BrokerProcess(.broker, shape: shape)
        defer { broker.stop() }
        print("10 GiB in 12 partitions, records of 1 KiB, data on \(NSTemporaryDirectory())")
        func makeClient() -> BrokerLoadClient {
            BrokerLoadClient(address: broker.address, shape: shape, recordBytes: recordBytes)
        }
        let produceRate = try makeClient().measureProducing(recordCount: recordCount)
        try reportMemory(of: broker, after: "produced at \(grouped(produceRate)) records/s")
        try broker.restart()
        // The first record of `measureProducing` only opens the connection, so there is one more.
        let readRate = try makeClient().measureReading(recordCount: recordCount + 1)
        try reportMemory(of: broker, after: "restarted, read at \(grouped(readRate)) records/s")
    }

    private static func reportMemory(of broker: BrokerProcess, after step: String) throws {
        let resident = broker.residentMiB
        print("\(step), \(resident.now) MiB resident, at most \(resident.peak); the limit is \(memoryMiBMax)")
        guard resident.peak <= memoryMiBMax else {
            throw BenchmarkFailure("the broker used \(resident.peak) MiB, more than \(memoryMiBMax)")
        }
    }
}
