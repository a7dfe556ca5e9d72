internal import Catalog
internal import Foundation
internal import Kafka
internal import LiveActivity
internal import Telemetry
internal import Topics

/// Reports through the gateway, from curl's end to Kafka's acknowledgement: a real broker, unless a cluster
/// is given, and a real gateway, each in a process of its own, and h2load as the phones.
enum GatewayBenchmark {
    private static let connections = 64

    static func run(_ arguments: [String]) throws {
        var arguments = arguments
        let given = try Bootstrap.take(from: &arguments)?.joined(separator: ",")
        if let unknown = arguments.first { throw BenchmarkFailure("\(unknown) is not known") }
        let cluster = given ?? "the embedded broker"
        print("reports through the gateway by HTTP/1.1, \(connections) connections, into \(cluster)")
        for (perBody, requests) in [(1, 100_000), (20, 20_000), (500, 2_000)] {
            var rates: [(core: Double, wall: Double)] = []
            for _ in 0..<3 { rates.append(try round(perBody: perBody, requests: requests, given)) }
            let core = grouped(rates.map(\.core).median)
            let wall = grouped(rates.map(\.wall).median)
            print("  \(perBody) a body: \(core) reports a core-second of the gateway, \(wall) a second seen")
        }
    }

    private static func round(
        perBody: Int, requests: Int, _ given: String?
    ) throws -> (core: Double, wall: Double) {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("gateway-\(getpid())").path
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: place) }
        let flotilla = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("flotilla").path
        let shared = ["--admin-listen", "127.0.0.1:0", "--log-format", "text"]
        let broker =
            given == nil
            ? try PinnedProcess(
                [flotilla, "broker", "--data", place + "/broker", "--listen", "127.0.0.1:0", "--flush", "os"]
                    + shared, processor: 0, output: place + "/broker.log") : nil
        let brokers = try given ?? broker.map { try address(of: "broker", in: $0) } ?? ""
        let layout = TopicLayout(prefix: "bench-\(UInt32.random(in: 0 ... .max)).", replication: 1)
        let admin = try Admin(KafkaSettings(brokers: [brokers]), log: .silent, metrics: Metrics())
        defer { if given != nil { _ = try? admin.delete(TopicName.allCases.map(layout.name)) } }
        _ = try layout.create(on: admin)
        let key = try prepare(brokers, layout)
        let gateway = try PinnedProcess(
            [
                flotilla, "run", "gateway", "--data", place + "/run", "--kafka-brokers", brokers,
                "--topics-prefix", layout.prefix,
                "--gateway-listen", "127.0.0.1:0", "--gateway-key-rate", "1000000",
                "--gateway-peer-rate", "1000000", "--gateway-installation-rate", "1000000",
            ] + shared, processor: 1, output: place + "/gateway.log")
        let listening = try address(of: "gateway", in: gateway)
        // The line comes before the catalogue has been read.
        _ = try words(after: "the catalogue has been read", in: gateway)
        try body(perBody).write(toFile: place + "/body.json", atomically: true, encoding: .utf8)
        let load = try PinnedProcess(
            [
                "h2load", "--h1", "-n", "\(requests)", "-c", "\(connections)", "-d", place + "/body.json",
                "-H", "authorization: Bearer \(key)", "http://\(listening)/v1/reports",
            ], processor: 0, output: place + "/load.log")
        let began = Date()
        _ = try load.wait()
        let seconds = Date().timeIntervalSince(began)
        guard load.text().contains("\(requests) 2xx") else {
            throw BenchmarkFailure("not all requests were accepted: \(load.text().suffix(800))")
        }
        let reports = Double(perBody * requests)
        return (reports / gateway.stop().processorSeconds, reports / seconds)
    }

    private static func address(of service: String, in process: PinnedProcess) throws -> String {
        let rest = try words(after: "\(service): serving address=", in: process)
        return String(rest.prefix { $0 != " " })
    }

    private static func words(after words: String, in process: PinnedProcess) throws -> String {
        for _ in 0..<2000 {
            let parts = process.text().components(separatedBy: words)
            if parts.count > 1, let line = parts[1].components(separatedBy: "\n").dropLast().first {
                return line
            }
            usleep(5000)
        }
        throw BenchmarkFailure("“\(words)” never came: \(process.text().suffix(500))")
    }

    /// An app, and the text of its key.
    private static func prepare(_ brokers: String, _ layout: TopicLayout) throws -> String {
        let settings = KafkaSettings(brokers: [brokers])
        let writer = try CatalogWriter(
            settings, catalog: layout.name(.catalog), audit: layout.name(.audit), author: "flotilla-bench",
            metrics: Metrics())
        let app = App(
            id: "shop", bundleID: "com.example.shop", environments: [.production], teamID: "ABCDE12345",
            keyID: "KEY1234567")
        try writer.put(app, action: "app.create", now: .now())
        let (text, key) = KeyText.mint(app: "shop", role: .report, atMilliseconds: 0)
        try writer.put(key, action: "key.create", now: .now())
        return text
    }

    private static func body(_ count: Int) -> String {
        let token = String(repeating: "c0ffee42", count: 20)
        let reports = (0..<count).map { number in
            """
            {"environment":"production","installationId":"0f6f4b8e-9d0a-4a53-\(number)","kind":"startToken",\
            "attributesType":"MatchAttributes","token":"\(token)","os":"18.1","eventTime":1763600000000}
            """
        }
        return count == 1 ? reports[0] : "[\(reports.joined(separator: ","))]"
    }
}
