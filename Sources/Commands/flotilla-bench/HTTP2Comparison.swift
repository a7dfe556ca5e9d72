internal import Foundation

/// A run of four measurements (our client, h2load, our server, nghttpd), round by round, so that the noise of a
/// shared machine affects all of them. It compares medians.
final class HTTP2Comparison {
    private let options: HTTP2Options
    private let directory: String
    private let benchmarkProgram = CommandLine.arguments[0]
    private var processorSeconds: [String: [Double]] = [:]
    private var systemSeconds: [String: [Double]] = [:]

    init(options: HTTP2Options) throws {
        self.options = options
        // `nghttpd` serves files, so there is one empty file per token. They are in memory, so that no disk
        // is measured.
        directory = "/dev/shm/flotilla-bench-\(getpid())"
        let devices = "\(directory)/www/3/device"
        try FileManager.default.createDirectory(atPath: devices, withIntermediateDirectories: true)
        for index in 0..<PushLoad.tokenCount {
            try Data().write(to: URL(fileURLWithPath: "\(devices)/\(PushLoad.token(at: index))"))
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

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
            printUnlessJSON(
                "  round \(round): "
                    + processorSeconds.keys.sorted().map {
                        "\($0) \(threeDecimals(processorSeconds[$0]?.last ?? 0))"
                    }.joined(
                        separator: ", "))
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
        record(name: "h2load as client", cost: try startH2load(port: port).wait())
        record(name: "our client", cost: try startOurClient(port: port).wait())
        _ = server.stop()
    }

    private func measureServers() throws {
        let peer = try startNghttpd()
        _ = try startH2load(port: try peer.listeningPort()).wait()
        record(name: "nghttpd as server", cost: peer.stop())
        let server = try startOurServer()
        _ = try startH2load(port: try server.listeningPort()).wait()
        record(name: "our server", cost: server.stop())
    }

    private func record(name: String, cost: PinnedProcess.Cost) {
        let hundredThousands = Double(options.requests) / 100_000
        processorSeconds[name, default: []].append(cost.processorSeconds / hundredThousands)
        systemSeconds[name, default: []].append(cost.systemSeconds / hundredThousands)
    }

    // MARK: The processes

    private func startNghttpd() throws -> PinnedProcess {
        try PinnedProcess(
            command: [
                "nghttpd", "-d", "\(directory)/www", "-m", String(options.streams), "0", key, certificate,
            ],
            processor: 0, output: "\(directory)/nghttpd")
    }

    private func startOurServer() throws -> PinnedProcess {
        try PinnedProcess(
            command: [benchmarkProgram, "http2", "--server", "--certificate", certificate, "--key", key],
            processor: 0,
            output: "\(directory)/server")
    }

    private func startOurClient(port: Int) throws -> PinnedProcess {
        try PinnedProcess(
            command: [
                benchmarkProgram, "http2", "--client", String(port), "--certificate", certificate,
                "--requests",
                String(options.requests), "--streams", String(options.streams), "--connections",
                String(options.connections),
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
        let client = printRatio(
            of: "our client", to: "h2load as client", target: HTTP2Benchmark.targets.client)
        let server = printRatio(
            of: "our server", to: "nghttpd as server", target: HTTP2Benchmark.targets.server)
        if options.isJSON {
            print("{\"client_ratio\":\(threeDecimals(client)),\"server_ratio\":\(threeDecimals(server))}")
        }
    }

    private func printRatio(of ours: String, to peer: String, target: Double) -> Double {
        for name in [peer, ours] {
            let values = (processorSeconds[name] ?? [0]).sorted()
            let system = threeDecimals((systemSeconds[name] ?? [0]).median)
            let range = "[\(threeDecimals(values[0]))-\(threeDecimals(values[values.count - 1]))]"
            printUnlessJSON(
                "  \(name): \(threeDecimals(values.median)) \(range), of which in the kernel \(system)")
        }
        let ratio = (processorSeconds[ours] ?? [0]).median / (processorSeconds[peer] ?? [1]).median
        printUnlessJSON("  ratio \(threeDecimals(ratio)), wanted at most \(target)")
        return ratio
    }

    private func printUnlessJSON(_ text: String) { if !options.isJSON { print(text) } }

    private func threeDecimals(_ value: Double) -> String { String(format: "%.3f", value) }
}
