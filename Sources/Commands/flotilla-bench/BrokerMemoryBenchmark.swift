internal import Foundation
internal import Kafka

/// A measurement of the broker's memory with 10 GiB of data: while they are written, after a restart, and
/// while they are read.
enum BrokerMemoryBenchmark {
    private static let recordCount = 10 * 1024 * 1024
    private static let memoryMiBMax = 150

    static func measure() throws {
        let shape = BrokerShape(compression: .none, partitions: 12)
        let peer = try BrokerProcess(.broker, shape: shape)
        defer { peer.stop() }
        let load = BrokerLoadClient(address: peer.address, shape: shape, recordBytes: 1_024)
        print("10 GiB in 12 partitions, records of 1 KiB, data on \(NSTemporaryDirectory())")
        print(
            "produced at \(grouped(try load.measureProducing(recordCount: recordCount))) records/s, \(peer.residentMiB.now) MiB resident"
        )
        print(
            "read at \(grouped(try load.measureConsuming(recordCount: 1_000_000))) records/s, \(peer.residentMiB.now) MiB resident"
        )
        let peakMiB = peer.residentMiB.peak
        print("at most \(peakMiB) MiB resident; the limit is \(memoryMiBMax)")
        guard peakMiB <= memoryMiBMax else { throw BenchmarkFailure("the broker used \(peakMiB) MiB") }
    }
}
