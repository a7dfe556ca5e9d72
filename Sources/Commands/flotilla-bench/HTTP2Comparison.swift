internal import Foundation

/// A run of four measurements (our client, h2load, our server, nghttpd), round by round, so that the noise of a
/// shared machine affects all of them. It compares medians.
final class HTTP2Comparison {
    /// A measured program, by its name in the output.
    private enum Program: String, CaseIterable {
        case h2load = "h2load as client"
        case nghttpd = "nghttpd as server"
        case ourClient = "our client"
        case ourServer = "our server"
    }

    /// The costs of a program per 100,000 pushes, one element for each round.
    private struct Costs {
        var processorSeconds: [Double] = []
        /// The part of them in the kernel.
        var systemSeconds: [Double] = []
    }

    private let options: HTTP2Options
    private let benchmarkDirectory: BenchmarkDirectory
    private var directory: String { benchmarkDirectory.path }
    private let benchmarkProgram = CommandLine.arguments[0]
    private var costs: [Program: Costs] = [:]

    init(options: HTTP2Options) throws {
        self.options = options
        // `nghttpd` serves files, so there is one empty file per token. They are in memory, so that no disk
        // is measured.
        benchmarkDirectory = try BenchmarkDirectory(in: "/dev/shm")
        let devices = "\(benchmarkDirectory.path)/www/3/device"
        try FileManager.default.createDirectory(atPath: devices, withIntermediateDirectories: true)
        for index in 0..<PushLoad.tokenCount {
            try Data().write(to: URL(fileURLWithPath: "\(devices)/\(PushLoad.token(at: index))"))
        }
    }

    func run() throws {
        try writeFiles()
        printUnlessJSON(
            "http2: \(options.requests) pushes, \(options.connections) connections of \(options.streams) streams, TLS 1.3,"
        )
        printUnlessJSON(
            "\(options.rounds) rounds; processor seconds per 100,000 pushes of the whole process, median [range]"
        )
        for round in 1...options.rounds {
            try measureClients()
            try measureServers()
            let results = Program.allCases.map { program in
                "\(program.rawValue) \(threeDecimals(costs[program]?.processorSeconds.last ?? 0))"
            }
            printUnlessJSON("  round \(round): \(results.joined(separator: ", "))")
        }
        printReport()
    }

    private func writeFiles() throws {
        try Self.makeIdentity(key: key, certificate: certificate, output: "\(directory)/openssl")
        try Data(PushLoad.body).write(to: URL(fileURLWithPath: "\(directory)/body"))
    }

    /// Makes a server's key and a self-signed certificate.
    static func makeIdentity(key: String, certificate: String, output: String) throws {
        let openssl = try PinnedProcess(
            command: [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
            ], processor: 1, output: output)
        _ = try openssl.wait()
    }

    private var key: String { "\(directory)/key.pem" }
    private var certificate: String { "\(directory)/certificate.pem" }

    // MARK: One round

    private func measureClients() throws {
        let server = try startNghttpd()
        let port = try server.listeningPort()
        record(try startH2load(port: port).wait(), of: .h2load)
        record(try startOurClient(port: port).wait(), of: .ourClient)
        _ = server.stop()
    }

    private func measureServers() throws {
        let peer = try startNghttpd()
        _ = try startH2load(port: try peer.listeningPort()).wait()
        record(peer.stop(), of: .nghttpd)
        let server = try startOurServer()
        _ = try startH2load(port: try server.listeningPort()).wait()
        record(server.stop(), of: .ourServer)
    }

    private func record(_ cost: PinnedProcess.Cost, of program: Program) {
        let hundredThousands = Double(options.requests) / 100_000
        costs[program, default: Costs()].processorSeconds.append(cost.processorSeconds / hundredThousands)
        costs[program, default: Costs()].systemSeconds.append(cost.systemSeconds / hundredThousands)
    }

    // MARK: The processes

    private func startNghttpd() throws -> PinnedProcess {
        try PinnedProcess(
            command: [
                "nghttpd", "-d", "\(directory)/www", "-m", String(options.streams), "0", key, certificate,
            ], processor: 0, output: "\(directory)/nghttpd")
    }

    private func startOurServer() throws -> PinnedProcess {
        try PinnedProcess(
            command: [benchmarkProgram, "http2", "--server", "--certificate", certificate, "--key", key],
            processor: 0, output: "\(directory)/server")
    }

    private func startOurClient(port: Int) throws -> PinnedProcess {
        try PinnedProcess(
            command: [
                benchmarkProgram, "http2", "--client", String(port), "--certificate", certificate,
                "--requests", String(options.requests), "--streams", String(options.streams),
                "--connections", String(options.connections),
            ], processor: 1, output: "\(directory)/client")
    }

    private func startH2load(port: Int) throws -> PinnedProcess {
        let uris = (0..<PushLoad.tokenCount).map { "https://127.0.0.1:\(port)\(PushLoad.path(at: $0))" }
        try uris.joined(separator: "\n").write(
            toFile: "\(directory)/uris", atomically: false, encoding: .utf8)
        let headers = PushLoad.headers.flatMap { ["-H", "\($0.0): \($0.1)"] }
        return try PinnedProcess(
            command: [
                "h2load", "-n", String(options.requests), "-c", String(options.connections), "-m",
                String(options.streams), "-t", "1", "-d", "\(directory)/body", "-i", "\(directory)/uris",
            ] + headers, processor: 1, output: "\(directory)/h2load")
    }

    // MARK: Results

    private func printReport() {
        let client = printRatio(of: .ourClient, to: .h2load, wanted: HTTP2Benchmark.clientShareWanted)
        let server = printRatio(of: .ourServer, to: .nghttpd, wanted: HTTP2Benchmark.serverShareWanted)
        if options.isJSON {
            print("{\"client_ratio\":\(threeDecimals(client)),\"server_ratio\":\(threeDecimals(server))}")
        }
    }

    /// Prints the costs of both programs after all rounds, and their ratio. Returns the ratio.
    private func printRatio(of ours: Program, to peer: Program, wanted: Double) -> Double {
        let ratio = printMedian(of: ours) / printMedian(of: peer)
        printUnlessJSON("  ratio \(threeDecimals(ratio)), wanted at most \(wanted)")
        return ratio
    }

    /// Prints the costs of a program, and returns the median of its processor time. There must be a round.
    private func printMedian(of program: Program) -> Double {
        let costs = costs[program] ?? Costs()
        let sortedSeconds = costs.processorSeconds.sorted()
        let range =
            "[\(threeDecimals(sortedSeconds[0]))-\(threeDecimals(sortedSeconds[sortedSeconds.count - 1]))]"
        printUnlessJSON(
            "  \(program.rawValue): \(threeDecimals(sortedSeconds.median)) \(range), "
                + "of which in the kernel \(threeDecimals(costs.systemSeconds.median))")
        return sortedSeconds.median
    }

    private func printUnlessJSON(_ text: String) { if !options.isJSON { print(text) } }

    private func threeDecimals(_ value: Double) -> String { String(format: "%.3f", value) }
}
