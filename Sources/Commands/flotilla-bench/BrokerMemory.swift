internal import Foundation
internal import Kafka

/// A measurement of the broker's memory with 10 GiB of data: while they are written, after a restart, and
/// while they are read.
enum BrokerMemory {
    private static let records = 10 * 1024 * 1024
    private static let memoryMiBMax = 150

    static func measure() throws {
        let shape = BrokerShape(compression: .none, partitions: 12)
        let peer = try BrokerPeer(.broker, shape: shape)
        defer { peer.end() }
        let load = BrokerLoad(peer.address, shape: shape, recordBytes: 1_024)
        print("10 GiB in 12 partitions, records of 1 KiB, data on \(NSTemporaryDirectory())")
        print(
            "produced at \(grouped(try load.produce(records))) records/s, \(peer.memoryMiB.now) MiB resident")
        print("read at \(grouped(try load.consume(1_000_000))) records/s, \(peer.memoryMiB.now) MiB resident")
        let most = peer.memoryMiB.most
        print("at most \(most) MiB resident; the limit is \(memoryMiBMax)")
        guard most <= memoryMiBMax else { throw BenchmarkFailure("the broker used \(most) MiB") }
    }
}
