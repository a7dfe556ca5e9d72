internal import Catalog
internal import CatalogRecords
internal import Foundation
internal import Identifiers
internal import JSON
internal import Kafka
internal import Telemetry
internal import Topics

/// A test bed with a gateway as a separate process, an app and its key, on a new broker or a running cluster.
/// h2load makes the requests. Broker and h2load run on processor 0, gateway and fan-out on processor 1.
final class GatewayTestBed {
    /// The app's id.
    static let app = "shop"

    private let directory: String
    private let flotillaProgram: String
    private let brokerProcess: PinnedProcess?
    private let gatewayProcess: PinnedProcess
    private var fanOutProcess: PinnedProcess?
    private let admin: AdminClient
    /// Whether the topics are in a cluster that outlives the test bed, so that they must be deleted.
    private let usesGivenCluster: Bool
    let layout: TopicLayout
    let settings: KafkaSettings
    let gatewayAddress: String
    /// The text of the app's key.
    let key: String

    /// - Parameters:
    ///   - role: the role of the key.
    ///   - brokers: the address of a cluster; nil starts a broker.
    init(role: APIKey.Role, types: [ActivityType] = [], brokers: String?) throws {
        directory =
            FileManager.default.temporaryDirectory.appendingPathComponent("gateway-\(getpid())").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let flotilla = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("flotilla").path
        self.flotillaProgram = flotilla
        let shared = Self.sharedOptions
        brokerProcess =
            brokers == nil
            ? try PinnedProcess(
                command: [
                    flotilla, "broker", "--data", directory + "/broker", "--listen", "127.0.0.1:0",
                    "--flush", "os",
                ] + shared, processor: 0, output: directory + "/broker.log") : nil
        let bootstrap = try brokers ?? brokerProcess.map { try Self.address(of: "broker", in: $0) } ?? ""
        settings = KafkaSettings(brokers: [bootstrap])
        usesGivenCluster = brokers != nil
        layout = TopicLayout(prefix: "bench-\(UInt32.random(in: 0 ... .max)).", replication: 1)
        admin = try AdminClient(settings: settings, log: .silent, metrics: Metrics())
        _ = try layout.create(on: admin)
        key = try Self.createKey(settings: settings, layout: layout, role: role, types: types)
        gatewayProcess = try PinnedProcess(
            command: [
                flotilla, "run", "gateway", "--data", directory + "/run", "--kafka-brokers", bootstrap,
                "--topics-prefix", layout.prefix,
                "--gateway-listen", "127.0.0.1:0", "--gateway-key-rate", "1000000",
                "--gateway-key-reports", "100000000", "--gateway-key-bytes", "16GiB",
                "--gateway-peer-rate", "1000000", "--gateway-peer-reports", "100000000",
                "--gateway-peer-bytes", "16GiB", "--gateway-installation-rate", "1000000",
            ] + shared, processor: 1, output: directory + "/gateway.log")
        gatewayAddress = try Self.address(of: "gateway", in: gatewayProcess)
        // The gateway logs its address before it has read the catalog.
        _ = try Self.waitForOutput(after: "the catalog has been read", in: gatewayProcess)
    }

    private static let sharedOptions = ["--admin-listen", "127.0.0.1:0", "--log-format", "text"]

    /// Starts fan-out beside the gateway. It ends with the gateway.
    func startFanOut() throws {
        fanOutProcess = try PinnedProcess(
            command: [
                flotillaProgram, "run", "fan-out", "--data", directory + "/fan-out", "--kafka-brokers",
                settings.brokers.joined(separator: ","), "--topics-prefix", layout.prefix,
            ] + Self.sharedOptions, processor: 1, output: directory + "/fan-out.log")
    }

    var fanOutOutput: String { fanOutProcess?.outputText() ?? "" }

    /// Ends the gateway and removes everything. Returns the processor seconds that the gateway used.
    func tearDown() -> Double {
        let processorSeconds = gatewayProcess.stop().processorSeconds
        _ = fanOutProcess?.stop()
        if usesGivenCluster { _ = try? admin.deleteTopics(TopicName.allCases.map(layout.name)) }
        _ = brokerProcess?.stop()
        try? FileManager.default.removeItem(atPath: directory)
        return processorSeconds
    }

    /// Posts a body with h2load over HTTP/1.1. Throws if a request was not accepted.
    func post(
        _ body: String, to path: String, requests: Int, connections: Int, options: [String] = []
    ) throws -> PostResult {
        try body.write(toFile: directory + "/body.json", atomically: true, encoding: .utf8)
        let log = directory + "/requests.log"
        try? FileManager.default.removeItem(atPath: log)
        let load = try PinnedProcess(
            command: [
                "h2load", "--h1", "-n", "\(requests)", "-c", "\(connections)", "-d",
                directory + "/body.json", "--log-file", log,
                "-H", "authorization: Bearer \(key)",
            ] + options + ["http://\(gatewayAddress)\(path)"], processor: 0, output: directory + "/load.log")
        let startedAt = Date()
        _ = try load.wait()
        let seconds = Date().timeIntervalSince(startedAt)
        guard load.outputText().contains("\(requests) 2xx") else {
            throw BenchmarkFailure("not all requests were accepted: \(load.outputText().suffix(800))")
        }
        return PostResult(seconds: seconds, microseconds: try Self.readLatencies(from: log))
    }

    /// The result of requests that were all accepted.
    struct PostResult {
        /// The time from the start of h2load to its end.
        let seconds: Double
        /// The time of each request, in ascending order.
        let microseconds: [Int]

        func milliseconds(at share: Double) -> Double {
            guard !microseconds.isEmpty else { return 0 }
            let index = min(microseconds.count - 1, Int(Double(microseconds.count) * share))
            return Double(microseconds[index]) / 1000
        }
    }

    /// Returns the durations of all requests in ascending order, in microseconds: the third and last column of
    /// h2load's log.
    private static func readLatencies(from log: String) throws -> [Int] {
        try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").compactMap { line in
            line.split(separator: "\t").last.flatMap { Int($0) }
        }.sorted()
    }

    /// Returns the address that a service logs when it serves.
    private static func address(of service: String, in process: PinnedProcess) throws -> String {
        let lineEnd = try waitForOutput(after: "\(service): serving address=", in: process)
        return String(lineEnd.prefix { $0 != " " })
    }

    /// Waits for a complete line with this text. Returns the end of the line.
    private static func waitForOutput(after text: String, in process: PinnedProcess) throws -> String {
        for _ in 0..<2000 {
            let parts = process.outputText().components(separatedBy: text)
            if parts.count > 1, let line = parts[1].components(separatedBy: "\n").dropLast().first {
                return line
            }
            usleep(5000)
        }
        throw BenchmarkFailure("“\(text)” did not appear in the log: \(process.outputText().suffix(500))")
    }

    /// Creates the app and a key. Returns the text of the key.
    private static func createKey(
        settings: KafkaSettings, layout: TopicLayout, role: APIKey.Role, types: [ActivityType]
    ) throws -> String {
        let writer = try CatalogWriter(
            settings, catalog: layout.name(of: .catalog), audit: layout.name(of: .audit),
            author: "flotilla-bench",
            metrics: Metrics())
        let app = App(
            id: Self.app, bundleID: "com.example.shop", environments: [.production], teamID: "ABCDE12345",
            keyID: "KEY1234567", types: types)
        try writer.write(.put(app, action: "create"), now: .now())
        let (text, key) = APIKeyText.makeKey(app: Self.app, role: role, atMilliseconds: 0)
        try writer.write(.put(key, action: "create"), now: .now())
        return text
    }
}
