internal import Foundation
internal import Kafka
internal import Lifecycle
internal import Telemetry

/// A comparison of the embedded broker, without and with sync, with librdkafka's mock cluster. Each server is a separate
/// process, and the same client (`BrokerLoadClient`) drives all of them. The mock keeps 5 MiB of a partition in memory
/// and checks nothing. The broker checks every batch and keeps all of it.
enum BrokerBenchmark {
    private static let rounds = 3
    private static let recordCountDefault = 200_000
    private static let recordBytes = 1_024
    /// `BrokerLoadClient.measureTransactions` writes 1,000 records in each transaction.
    private static let transactionCount = 100
    private static let transactionRecordBytes = 500

    /// Runs the comparison, or one of the server processes that `BrokerProcess` starts.
    static func run(arguments: [String]) throws {
        switch arguments.first {
        case BrokerProcess.serveMockArgument:
            try BrokerProcess.runMock(arguments: Array(arguments.dropFirst()))
        case BrokerProcess.serveBrokerArgument:
            try BrokerProcess.runBroker(arguments: Array(arguments.dropFirst()))
        case "--ten-gib": try BrokerMemoryBenchmark.run()
        case nil, "--records": try compareAll(arguments: arguments)
        default: throw BenchmarkFailure("usage: flotilla-bench broker [--records N | --ten-gib]")
        }
    }

    private static func compareAll(arguments: [String]) throws {
        let recordCount = arguments.count == 2 ? Int(arguments[1]) ?? 0 : recordCountDefault
        guard recordCount > 0 else { throw BenchmarkFailure("--records needs a number above 0") }
        print("records of 1 KiB, \(recordCount) a run, median of \(rounds) runs in turn; records a second")
        print("data on \(NSTemporaryDirectory()); with sync, acks=all waits for the disk")
        print("                              mock       broker  of mock     with sync  of mock")
        for shape in BrokerShape.all {
            try compare(shape, recordCount: recordCount)
        }
        try measureTransactions()
    }

    // MARK: Records

    private static func compare(_ shape: BrokerShape, recordCount: Int) throws {
        var produceRates: [BrokerProcess.Kind: [Double]] = [:]
        var consumeRates: [BrokerProcess.Kind: [Double]] = [:]
        // The servers take turns, so that the noise of a shared machine affects all of them.
        for _ in 0..<rounds {
            for kind in BrokerProcess.Kind.allCases {
                let server = try BrokerProcess(kind, shape: shape)
                defer { server.stop() }
                let client = BrokerLoadClient(address: server.address, shape: shape, recordBytes: recordBytes)
                produceRates[kind, default: []].append(try client.measureProducing(recordCount: recordCount))
                consumeRates[kind, default: []].append(try client.measureConsuming(recordCount: recordCount))
            }
        }
        printRow(name: "produce \(shape)", rates: produceRates)
        printRow(name: "consume \(shape)", rates: consumeRates)
    }

    /// Prints a row of the table: the median rates of all servers, and the broker's as shares of the mock's.
    private static func printRow(name: String, rates: [BrokerProcess.Kind: [Double]]) {
        func medianRate(of kind: BrokerProcess.Kind) -> Double { rates[kind]?.median ?? 0 }
        let mockRate = medianRate(of: .mock)
        func columns(for kind: BrokerProcess.Kind) -> String {
            let share = String(format: "%.2f", medianRate(of: kind) / mockRate)
            return pad(grouped(medianRate(of: kind)), toWidth: 13) + pad(share, toWidth: 9)
        }
        print(name.padding(toLength: 24, withPad: " ", startingAt: 0), terminator: "")
        print(pad(grouped(mockRate), toWidth: 11) + columns(for: .broker) + " " + columns(for: .syncedBroker))
    }

    /// Returns the text with spaces before it.
    private static func pad(_ text: String, toWidth width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    // MARK: Transactions

    /// Measures the broker alone, without and with sync.
    private static func measureTransactions() throws {
        for partitions in [1, 12] {
            let shape = BrokerShape(compression: .none, partitions: partitions)
            var line =
                "transactions of 1,000 records of \(transactionRecordBytes) B, \(partitions) partitions:"
            for kind in [BrokerProcess.Kind.broker, .syncedBroker] {
                let server = try BrokerProcess(kind, shape: shape)
                defer { server.stop() }
                let client = BrokerLoadClient(
                    address: server.address, shape: shape, recordBytes: transactionRecordBytes)
                let rates = try (0..<rounds).map { _ in
                    try client.measureTransactions(transactionCount: transactionCount)
                }
                line += " \(grouped(rates.median)) records/s \(kind == .broker ? "without" : "with") sync;"
            }
            print(line.dropLast())
        }
    }
}
