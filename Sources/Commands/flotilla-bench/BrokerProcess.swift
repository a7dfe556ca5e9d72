internal import Broker
internal import Foundation
internal import Kafka
internal import KafkaTesting
internal import Telemetry

/// A Kafka server as a separate process: this executable, started again with other arguments.
final class BrokerProcess {
    enum Kind: String, CaseIterable {
        /// librdkafka's mock cluster.
        case mock
        /// The embedded broker, which leaves the sync of its files to the system.
        case broker
        /// The embedded broker, which syncs before each acknowledgement.
        case syncedBroker
    }

    static let serveMockArgument = "serve-mock"
    static let serveBrokerArgument = "serve-broker"

    private static let osFlush = "os"
    private static let everyAckFlush = "every-ack"

    /// One start of the server.
    private struct Run {
        let process: Process
        /// The child ends when this pipe closes, however this process ends.
        let input: Pipe
        let address: String
    }

    let directory: String
    private let arguments: [String]
    private var run: Run

    /// Starts the server, and creates the topic of the broker benchmarks on it.
    init(_ kind: Kind, shape: BrokerShape) throws {
        directory = NSTemporaryDirectory() + "flotilla-bench-\(UUID().uuidString)"
        arguments =
            switch kind {
            case .mock: [Self.serveMockArgument, "\(shape.partitions)"]
            case .broker: [Self.serveBrokerArgument, directory, Self.osFlush]
            case .syncedBroker: [Self.serveBrokerArgument, directory, Self.everyAckFlush]
            }
        run = try Self.start(arguments: arguments)
        guard kind != .mock else { return }
        let admin = try AdminClient(
            settings: KafkaSettings(brokers: [address]), log: .silent, metrics: Metrics())
        let topic = NewTopic(name: BrokerShape.topic, partitionCount: shape.partitions, replicationFactor: 1)
        _ = try admin.createTopics([topic])
    }

    private static func start(arguments: [String]) throws -> Run {
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = ["broker"] + arguments
        process.standardOutput = output
        process.standardInput = input
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let address = line.trimmingCharacters(in: .newlines)
        guard !address.isEmpty else {
            throw BenchmarkFailure("flotilla-bench broker \(arguments[0]) did not start")
        }
        return Run(process: process, input: input, address: address)
    }

    var address: String { run.address }

    /// Ends the process, and starts another one on the same data.
    func restart() throws {
        end()
        run = try Self.start(arguments: arguments)
    }

    /// Ends the process and removes its data.
    func stop() {
        end()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private func end() {
        try? run.input.fileHandleForWriting.close()
        run.process.waitUntilExit()
    }

    /// Resident memory of the process in MiB, now and at its peak.
    var residentMiB: (now: Int, peak: Int) {
        let path = "/proc/\(run.process.processIdentifier)/status"
        let lines = (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n") ?? []
        func mebibytes(inField name: String) -> Int {
            let line = lines.first { $0.hasPrefix(name) }
            return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) / 1024
        }
        return (mebibytes(inField: "VmRSS:"), mebibytes(inField: "VmHWM:"))
    }

    // MARK: In the child process

    static func runMock(arguments: [String]) throws {
        guard let cluster = MockCluster(brokers: 1) else { throw BenchmarkFailure("no mock cluster") }
        cluster.createTopic(named: BrokerShape.topic, partitions: Int(arguments[0]) ?? 1)
        writeAddress(cluster.brokers[0])
        waitForEndOfInput()
    }

    static func runBroker(arguments: [String]) throws {
        var settings = BrokerSettings(dataDirectory: arguments[0])
        settings.flush = arguments[1] == osFlush ? .os : .everyAck
        // In the weather run, the whole process is a cluster with faults, for tests that cannot use a real
        // cluster.
        if let seed = TestCluster.weatherSeed { SeededWeather(seed: seed).install(in: &settings) }
        let broker = try RunningBroker(settings: settings)
        writeAddress("127.0.0.1:\(broker.port)")
        waitForEndOfInput()
        broker.stop()
    }

    private static func writeAddress(_ address: String) {
        FileHandle.standardOutput.write(Data((address + "\n").utf8))
    }

    private static func waitForEndOfInput() {
        _ = FileHandle.standardInput.readDataToEndOfFile()
    }
}
