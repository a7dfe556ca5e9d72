internal import Foundation
internal import Kafka
internal import Lifecycle
internal import Telemetry

/// A comparison of the embedded broker with librdkafka's mock cluster. Each is a separate process, and the
/// same client drives both. The mock keeps 5 MiB of a partition in memory and checks nothing. The broker
/// checks every batch and keeps all of it.
enum BrokerBenchmark {
    private static let rounds = 3
    private static let recordBytes = 1_024

    static func run(_ arguments: [String]) throws {
        switch arguments.first {
        case BrokerPeer.serveMock: try BrokerPeer.runMock(Array(arguments.dropFirst()))
        case BrokerPeer.serveBroker: try BrokerPeer.runBroker(Array(arguments.dropFirst()))
        case "--ten-gib": try BrokerMemory.measure()
        case nil, "--records": try compare(arguments)
        default: throw BenchmarkFailure("usage: flotilla-bench broker [--records N | --ten-gib]")
        }
    }

    private static func compare(_ arguments: [String]) throws {
        let count = arguments.count == 2 ? Int(arguments[1]) ?? 0 : 200_000
        guard count > 0 else { throw BenchmarkFailure("--records needs a number above 0") }
        print("records of 1 KiB, \(count) a run, median of \(rounds) runs in turn; records a second")
        print("data on \(NSTemporaryDirectory()); with sync, acks=all waits for the disk")
        print("                              mock       broker  of mock     with sync  of mock")
        for shape in BrokerShape.all {
            try compare(shape, count: count)
        }
        try transactions()
    }

    private static func compare(_ shape: BrokerShape, count: Int) throws {
        var produced: [BrokerPeer.Kind: [Double]] = [:]
        var consumed: [BrokerPeer.Kind: [Double]] = [:]
        for _ in 0..<rounds {
            for kind in BrokerPeer.Kind.allCases {
                let peer = try BrokerPeer(kind, shape: shape)
                defer { peer.end() }
                let client = BrokerLoad(peer.address, shape: shape, recordBytes: recordBytes)
                produced[kind, default: []].append(try client.produce(count))
                consumed[kind, default: []].append(try client.consume(count))
            }
        }
        report("produce \(shape)", produced)
        report("consume \(shape)", consumed)
    }

    private static func report(_ what: String, _ rates: [BrokerPeer.Kind: [Double]]) {
        func median(_ kind: BrokerPeer.Kind) -> Double { rates[kind]?.median ?? 0 }
        let mock = median(.mock)
        func column(_ kind: BrokerPeer.Kind) -> String {
            let share = String(format: "%.2f", median(kind) / mock)
            return pad(grouped(median(kind)), 13) + pad(share, 9)
        }
        print(what.padding(toLength: 24, withPad: " ", startingAt: 0), terminator: "")
        print(pad(grouped(mock), 11) + column(.broker) + " " + column(.syncedBroker))
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    private static func transactions() throws {
        for partitions in [1, 12] {
            let shape = BrokerShape(compression: .none, partitions: partitions)
            var line = "transactions of 1,000 records of 500 B, \(partitions) partitions:"
            for kind in [BrokerPeer.Kind.broker, .syncedBroker] {
                let peer = try BrokerPeer(kind, shape: shape)
                defer { peer.end() }
                let load = BrokerLoad(peer.address, shape: shape, recordBytes: 500)
                let rates = try (0..<rounds).map { _ in try load.transact(100) }
                line += " \(grouped(rates.median)) records/s \(kind == .broker ? "without" : "with") sync;"
            }
            print(line.dropLast())
        }
    }
}

/// One case of the comparison: a codec and a number of partitions.
struct BrokerShape: CustomStringConvertible {
    let compression: ProducerOptions.Compression
    let partitions: Int

    static let all = [ProducerOptions.Compression.none, .zstd].flatMap { compression in
        [1, 12].map { BrokerShape(compression: compression, partitions: $0) }
    }

    static let topic = "bench"

    var description: String { "\(compression), \(partitions) partition\(partitions == 1 ? "" : "s")" }
}
