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

    static func run(arguments: [String]) throws {
        switch arguments.first {
        case BrokerProcess.serveMockArgument:
            try BrokerProcess.runMock(arguments: Array(arguments.dropFirst()))
        case BrokerProcess.serveBrokerArgument:
            try BrokerProcess.runBroker(arguments: Array(arguments.dropFirst()))
        case "--ten-gib": try BrokerMemoryBenchmark.measure()
        case nil, "--records": try compareAll(arguments: arguments)
        default: throw BenchmarkFailure("usage: flotilla-bench broker [--records N | --ten-gib]")
        }
    }

    private static func compareAll(arguments: [String]) throws {
        let count = arguments.count == 2 ? Int(arguments[1]) ?? 0 : 200_000
        guard count > 0 else { throw BenchmarkFailure("--records needs a number above 0") }
        print("records of 1 KiB, \(count) a run, median of \(rounds) runs in turn; records a second")
        print("data on \(NSTemporaryDirectory()); with sync, acks=all waits for the disk")
        print("                              mock       broker  of mock     with sync  of mock")
        for shape in BrokerShape.all {
            try compare(shape, recordCount: count)
        }
        try measureTransactions()
    }

    private static func compare(_ shape: BrokerShape, recordCount: Int) throws {
        var produced: [BrokerProcess.Kind: [Double]] = [:]
        var consumed: [BrokerProcess.Kind: [Double]] = [:]
        for _ in 0..<rounds {
            for kind in BrokerProcess.Kind.allCases {
                let peer = try BrokerProcess(kind, shape: shape)
                defer { peer.stop() }
                let client = BrokerLoadClient(address: peer.address, shape: shape, recordBytes: recordBytes)
                produced[kind, default: []].append(try client.measureProducing(recordCount: recordCount))
                consumed[kind, default: []].append(try client.measureConsuming(recordCount: recordCount))
            }
        }
        printRow(name: "produce \(shape)", rates: produced)
        printRow(name: "consume \(shape)", rates: consumed)
    }

    private static func printRow(name: String, rates: [BrokerProcess.Kind: [Double]]) {
        func medianRate(of kind: BrokerProcess.Kind) -> Double { rates[kind]?.median ?? 0 }
        let mock = medianRate(of: .mock)
        func column(for kind: BrokerProcess.Kind) -> String {
            let share = String(format: "%.2f", medianRate(of: kind) / mock)
            return pad(grouped(medianRate(of: kind)), toWidth: 13) + pad(share, toWidth: 9)
        }
        print(name.padding(toLength: 24, withPad: " ", startingAt: 0), terminator: "")
        print(pad(grouped(mock), toWidth: 11) + column(for: .broker) + " " + column(for: .syncedBroker))
    }

    private static func pad(_ text: String, toWidth width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    private static func measureTransactions() throws {
        for partitions in [1, 12] {
            let shape = BrokerShape(compression: .none, partitions: partitions)
            var line = "transactions of 1,000 records of 500 B, \(partitions) partitions:"
            for kind in [BrokerProcess.Kind.broker, .syncedBroker] {
                let peer = try BrokerProcess(kind, shape: shape)
                defer { peer.stop() }
                let load = BrokerLoadClient(address: peer.address, shape: shape, recordBytes: 500)
                let rates = try (0..<rounds).map { _ in try load.measureTransactions(count: 100) }
                line += " \(grouped(rates.median)) records/s \(kind == .broker ? "without" : "with") sync;"
            }
            print(line.dropLast())
        }
    }
}
