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

    let address: String
    private let process: Process
    private let input = Pipe()
    let directory: String

    init(_ kind: Kind, shape: BrokerShape) throws {
        directory = NSTemporaryDirectory() + "flotilla-bench-\(UUID().uuidString)"
        process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments =
            kind == .mock
            ? ["broker", Self.serveMockArgument, "\(shape.partitions)"]
            : ["broker", Self.serveBrokerArgument, directory, kind == .broker ? "os" : "every-ack"]
        let output = Pipe()
        process.standardOutput = output
        // The child ends when this pipe closes, however this process ends.
        process.standardInput = input
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        address = line.trimmingCharacters(in: .newlines)
        guard !address.isEmpty else { throw BenchmarkFailure("the \(kind) did not start") }
        guard kind != .mock else { return }
        let admin = try AdminClient(
            settings: KafkaSettings(brokers: [address]), log: .silent, metrics: Metrics())
        let topic = NewTopic(name: BrokerShape.topic, partitionCount: shape.partitions, replicationFactor: 1)
        _ = try admin.createTopics([topic])
    }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Resident memory of the process in MiB, now and at its peak.
    var residentMiB: (now: Int, peak: Int) {
        let path = "/proc/\(process.processIdentifier)/status"
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
        settings.flush = arguments[1] == "os" ? .os : .everyAck
        // In the weather run, the whole process is a cluster with faults, for tests that cannot use a real
        // cluster.
        if let seed = TestCluster.delaySeed { SeededClusterDelays(seed: seed).install(in: &settings) }
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
