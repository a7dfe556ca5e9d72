internal import APNs
internal import APNsSimulator
internal import CatalogRecords
internal import Foundation
internal import Glibc
internal import Identifiers
internal import Lifecycle
internal import Telemetry

/// A measurement of the simulated APNs under h2load. The simulator must never be slower than the program
/// under test, which h2load stands for. The simulator runs on processor 0 with all checks, h2load on
/// processor 1.
enum SimulatorBenchmark {
    /// The parts of the simulator that run.
    private enum SimulatorMode: String, CaseIterable {
        /// The server alone.
        case bare
        /// The default of `flotilla apns-simulator`: script, control API, and the journal in memory.
        case journal
        /// The journal also in a file.
        case file
        /// The file of records too, as in the sender's proofs.
        case records
        /// 100,000 phones, of which one gets all pushes.
        case phones

        /// The target in pushes per second of the simulator's processor time.
        var target: Double { self == .bare ? 100_000 : 50_000 }
    }

    private static let app = "com.example.matchday"
    private static let phones = 100_000
    private static let bodyBytes = 600

    static func run(arguments: [String]) throws {
        if arguments.first == "--server" {
            return try serve(mode: SimulatorMode(rawValue: arguments[1]), directory: arguments[2])
        }
        let pushes = arguments.first.flatMap { Int($0) } ?? 1_000_000
        let directory = try BenchmarkDirectory()
        let path = directory.path
        let credentials = try SimulatorCredentials(directory: path)
        let token = ProviderToken.make(
            teamID: SimulatorCredentials.teamID, keyID: credentials.keyID, key: credentials.signingKey,
            at: .now())
        for mode in SimulatorMode.allCases {
            for streams in [100, 1_000] {
                try measureRound(mode: mode, pushes: pushes, streams: streams, token: token, path: path)
            }
        }
    }

    private static func measureRound(
        mode: SimulatorMode, pushes: Int, streams: Int, token: String, path: String
    ) throws {
        let server = try PinnedProcess(
            command: [CommandLine.arguments[0], "apns-simulator", "--server", mode.rawValue, path],
            processor: 0,
            output: path + "/server")
        let port = try waitForOutput(after: "port ", in: server)
        let (bodyFile, urlFile) = (path + "/body", path + "/paths")
        let payload = makePayload()
        try payload.write(toFile: bodyFile, atomically: true, encoding: .utf8)
        // There is no apns-id, because h2load cannot vary it. The simulator makes one for each push.
        let devicePaths =
            mode == .phones
            ? ["/3/device/" + (try waitForOutput(after: "token ", in: server))]
            : (0..<PushLoad.tokenCount).map(PushLoad.path)
        let urls = devicePaths.map { "https://127.0.0.1:\(port)\($0)\n" }
        try urls.joined().write(toFile: urlFile, atomically: true, encoding: .utf8)
        let command = [
            "h2load", "-n", String(pushes), "-c", "4", "-m", String(streams), "-d", bodyFile,
            "-H", "authorization: bearer \(token)", "-H", "apns-push-type: liveactivity",
            "-H", "apns-topic: \(app).push-type.liveactivity", "-H", "apns-priority: 10",
            "-H", "apns-expiration: 0", "-i", urlFile,
        ]
        let start = Instant.now()
        let load = try PinnedProcess(command: command, processor: 1, output: path + "/load")
        let loadCost = try load.wait()
        let seconds = Instant.now().seconds(since: start)
        let cost = server.stop()
        guard load.outputText().contains("\(pushes) 2xx") else {
            throw BenchmarkFailure("not every push was answered 200: \(load.outputText().suffix(800))")
        }
        let perProcessorSecond = Double(pushes) / cost.processorSeconds
        print(
            "\(mode): \(streams) streams on 4 connections, \(payload.utf8.count) bytes: "
                + "\(grouped(Double(pushes) / seconds)) pushes/s; "
                + "\(grouped(perProcessorSecond)) per second of the simulator's processor "
                + "(h2load \(grouped(Double(pushes) / loadCost.processorSeconds)) on its own processor), "
                + "\(cost.peakMemoryMiB) MiB; target \(grouped(mode.target)): "
                + (perProcessorSecond >= mode.target ? "met" : "MISSED"))
    }

    /// Returns an update of `bodyBytes`.
    private static func makePayload() -> String {
        let (head, tail) = (
            #"{"aps":{"timestamp":1763632800,"event":"update","content-state":{"x":""#, #""}}}"#
        )
        return head + String(repeating: "x", count: bodyBytes - head.utf8.count - tail.utf8.count) + tail
    }

    /// Waits until the simulator serves. Returns the rest of the line that begins with the name, such as `port `.
    private static func waitForOutput(after name: String, in server: PinnedProcess) throws -> String {
        for _ in 0..<2_000 {
            let lines = server.outputText().split(separator: "\n")
            if lines.last == "serving", let line = lines.first(where: { $0.hasPrefix(name) }) {
                return String(line.dropFirst(name.count))
            }
            usleep(5_000)
        }
        throw BenchmarkFailure("the simulator does not listen: \(server.outputText().suffix(500))")
    }

    /// Runs the simulator in this process until it is killed.
    private static func serve(mode: SimulatorMode?, directory path: String) throws {
        switch mode {
        case nil: throw BenchmarkFailure("name one of \(SimulatorMode.allCases)")
        case .bare:
            let loop = try EventLoop(name: "apns")
            try loop.start()
            var settings = SimulatorSettings()
            settings.streams.initialStreams = settings.streams.streamsMax
            let simulator = Simulator(
                settings: settings, credentials: try SimulatorCredentials(directory: path), on: loop)
            try simulator.start()
            printAddress(port: simulator.ports.production, token: nil)
            // The condition uses the simulator, so that the optimizer does not end its lifetime before the loop.
            while simulator.ports.production > 0 { pause() }
        case .journal, .file, .records, .phones:
            var settings = SimulatorServiceSettings(credentialsDirectory: path)
            settings.simulator.streams.initialStreams = settings.simulator.streams.streamsMax
            if mode == .file { settings.journalFile = path + "/journal" }
            if mode == .records { settings.recordsFile = path + "/records" }
            if mode == .phones {
                let types = [ActivityType(name: "Match")]
                settings.phones = Population(
                    of: PhoneApp(id: app, bundleID: app, types: types), phones: phones)
                settings.phones?.systems = [(OSVersion(26, 1), 1)]
            }
            let service = SimulatorService(settings: settings) {
                printAddress(port: $0.ports.production, token: $0.firstToken)
            }
            Task.detached {
                do {
                    try await service.start(ServiceContext(log: .silent, metrics: Metrics()) { _ in })
                } catch {
                    print("the simulator does not start: \(error)")
                    exit(1)
                }
            }
            // The service lives until the process is killed. The optimizer would end its lifetime before the
            // endless loop.
            _ = unsafe Unmanaged.passRetained(service)
            while true { pause() }
        }
    }

    private static func printAddress(port: Int, token: PushToken?) {
        print("port \(port)")
        if let token { print("token \(String(decoding: token.hex, as: UTF8.self))") }
        print("serving")
        fflush(nil)
    }
}
