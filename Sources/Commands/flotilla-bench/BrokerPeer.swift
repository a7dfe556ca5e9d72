internal import Broker
internal import Foundation
internal import Kafka
internal import KafkaTesting
internal import Telemetry

/// One of the compared servers as a separate process: this executable, started again.
final class BrokerPeer {
    enum Kind: String, CaseIterable {
        case mock
        case broker
        case syncedBroker
    }

    static let serveMock = "serve-mock"
    static let serveBroker = "serve-broker"

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
            ? ["broker", Self.serveMock, "\(shape.partitions)"]
            : ["broker", Self.serveBroker, directory, kind == .broker ? "os" : "every-ack"]
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
        _ = try admin.create([topic])
    }

    func end() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Resident memory of the process in MiB, now and at its peak.
    var memoryMiB: (now: Int, most: Int) {
        let path = "/proc/\(process.processIdentifier)/status"
        let lines = (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n") ?? []
        func field(_ name: String) -> Int {
            let line = lines.first { $0.hasPrefix(name) }
            return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) / 1024
        }
        return (field("VmRSS:"), field("VmHWM:"))
    }

    // MARK: In the child process

    static func runMock(_ arguments: [String]) throws {
        guard let cluster = MockCluster(brokers: 1) else { throw BenchmarkFailure("no mock cluster") }
        cluster.createTopic(BrokerShape.topic, partitions: Int(arguments[0]) ?? 1)
        announce(cluster.brokers[0])
        waitForEnd()
    }

    static func runBroker(_ arguments: [String]) throws {
        var settings = BrokerSettings(dataDirectory: arguments[0])
        settings.flush = arguments[1] == "os" ? .os : .everyAck
        // In the weather run, the whole process is a cluster with faults, for tests that cannot use a real
        // cluster.
        if let seed = TestCluster.weatherSeed { WeatherStation(seed: seed).stand(over: &settings) }
        let broker = try RunningBroker(settings: settings)
        announce("127.0.0.1:\(broker.port)")
        waitForEnd()
        broker.stop()
    }

    private static func announce(_ address: String) {
        FileHandle.standardOutput.write(Data((address + "\n").utf8))
    }

    private static func waitForEnd() {
        _ = FileHandle.standardInput.readDataToEndOfFile()
    }
}
