internal import APNs
internal import APNsSimulator
internal import Foundation
internal import Glibc
internal import Lifecycle
internal import Telemetry

/// The simulated APNs under h2load, which stands for whoever is measured against it: it must never be
/// the slower one. The simulator runs on processor 0 with every check made, h2load on processor 1.
enum SimulatorBenchmark {
    /// What of the simulator runs.
    private enum Kind: String, CaseIterable {
        /// The server alone.
        case bare
        /// As `flotilla apns-simulator` runs: script, control API, and the journal in memory.
        case journal

        /// Pushes for each second of the simulator's processor.
        var target: Double { self == .bare ? 100_000 : 50_000 }
    }

    private static let bodyBytes = 600

    static func run(_ arguments: [String]) throws {
        if arguments.first == "--server" { return try serve(Kind(rawValue: arguments[1]), arguments[2]) }
        let pushes = arguments.first.flatMap { Int($0) } ?? 1_000_000
        var directory = Array("/tmp/flotilla-bench-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&directory) != nil else { throw BenchmarkFailure("cannot make a directory") }
        let path = String(decoding: directory.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let credentials = try SimulatorCredentials(directory: path)
        let token = ProviderToken.make(
            teamID: SimulatorCredentials.teamID, keyID: credentials.keyID, key: credentials.signingKey,
            at: .now())
        for kind in Kind.allCases {
            for streams in [100, 1_000] { try round(kind, pushes, streams, token, path) }
        }
    }

    private static func round(
        _ kind: Kind, _ pushes: Int, _ streams: Int, _ token: String, _ path: String
    ) throws {
        let server = try PinnedProcess(
            [CommandLine.arguments[0], "apns-simulator", "--server", kind.rawValue, path], processor: 0,
            output: path + "/server")
        let port = try port(of: server)
        let (body, paths) = (path + "/body", path + "/paths")
        let padding = String(repeating: "x", count: bodyBytes - 75)
        let payload =
            #"{"aps":{"timestamp":1763632800,"event":"update","content-state":{"x":"\#(padding)"}}}"#
        try payload.write(toFile: body, atomically: true, encoding: .utf8)
        // Without an apns-id, which h2load would not vary: the simulator makes one for each push.
        let urls = (0..<PushLoad.tokens).map { "https://127.0.0.1:\(port)\(PushLoad.path($0))\n" }
        try urls.joined().write(toFile: paths, atomically: true, encoding: .utf8)
        let command = [
            "h2load", "-n", String(pushes), "-c", "4", "-m", String(streams), "-d", body,
            "-H", "authorization: bearer \(token)", "-H", "apns-push-type: liveactivity",
            "-H", "apns-topic: com.example.matchday.push-type.liveactivity", "-H", "apns-priority: 10",
            "-H", "apns-expiration: 0", "-i", paths,
        ]
        let began = Instant.now()
        let load = try PinnedProcess(command, processor: 1, output: path + "/load")
        let loadCost = try load.wait()
        let seconds = Instant.now().seconds(since: began)
        let cost = server.stop()
        guard load.text().contains("\(pushes) 2xx") else {
            throw BenchmarkFailure("not every push was answered 200: \(load.text().suffix(800))")
        }
        let perProcessor = Double(pushes) / cost.processorSeconds
        print(
            "\(kind): \(streams) streams on 4 connections, \(payload.utf8.count) bytes: "
                + "\(grouped(Double(pushes) / seconds)) pushes/s; "
                + "\(grouped(perProcessor)) per second of the simulator's processor "
                + "(h2load \(grouped(Double(pushes) / loadCost.processorSeconds)) of its own), "
                + "\(cost.peakMemoryMiB) MiB; target \(grouped(kind.target)): "
                + (perProcessor >= kind.target ? "met" : "MISSED"))
    }

    private static func port(of server: PinnedProcess) throws -> Int {
        for _ in 0..<2_000 {
            if let line = server.text().split(separator: "\n").first(where: { $0.hasPrefix("port ") }),
                let port = Int(line.dropFirst(5))
            {
                return port
            }
            usleep(5_000)
        }
        throw BenchmarkFailure("the simulator does not listen: \(server.text().suffix(500))")
    }

    private static func serve(_ kind: Kind?, _ path: String) throws {
        switch kind {
        case nil: throw BenchmarkFailure("say bare or journal")
        case .bare:
            let loop = try EventLoop(name: "apns")
            try loop.start()
            var settings = SimulatorSettings()
            settings.streams.atFirst = settings.streams.most
            let simulator = Simulator(
                settings, credentials: try SimulatorCredentials(directory: path), on: loop)
            try simulator.start()
            announce(simulator.ports.production)
            while simulator.ports.production > 0 { pause() }
        case .journal:
            var settings = SimulatorServiceSettings(directory: path)
            settings.simulator.streams.atFirst = settings.simulator.streams.most
            let service = SimulatorService(settings) { announce($0.ports.production) }
            Task.detached {
                do {
                    try await service.start(ServiceContext(log: .silent, metrics: Metrics()) { _ in })
                } catch {
                    print("the simulator does not start: \(error)")
                    exit(1)
                }
            }
            // It serves until the process is killed; the optimizer ends lifetimes before endless loops.
            _ = unsafe Unmanaged.passRetained(service)
            while true { pause() }
        }
    }

    private static func announce(_ port: Int) {
        print("port \(port)")
        fflush(nil)
    }
}
