internal import Foundation

/// A run of the four measurements, round by round, so that the noise of a shared machine affects all of them.
/// It compares medians.
final class HTTP2Rounds {
    private let options: HTTP2Options
    private let directory: String
    private let ourselves = CommandLine.arguments[0]
    private var series: [String: [Double]] = [:]
    private var systems: [String: [Double]] = [:]

    init(_ options: HTTP2Options) throws {
        self.options = options
        // `nghttpd` serves files, so there is one empty file per token. They are in memory, so that no disk
        // is measured.
        directory = "/dev/shm/flotilla-bench-\(getpid())"
        let devices = "\(directory)/www/3/device"
        try FileManager.default.createDirectory(atPath: devices, withIntermediateDirectories: true)
        for index in 0..<PushLoad.tokens {
            try Data().write(to: URL(fileURLWithPath: "\(devices)/\(PushLoad.token(index))"))
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    func run() throws {
        try prepare()
        say(
            "http2: \(options.requests) pushes, \(options.connections) connections of \(options.streams) streams, TLS 1.3,"
        )
        say(
            "\(options.rounds) rounds; processor seconds per 100,000 pushes of the whole process, median [range]"
        )
        for round in 1...options.rounds {
            try clients()
            try servers()
            say(
                "  round \(round): "
                    + series.keys.sorted().map { "\($0) \(digits(series[$0]?.last ?? 0))" }.joined(
                        separator: ", "))
        }
        report()
    }

    private func prepare() throws {
        try Self.makeIdentity(key: key, certificate: certificate, output: "\(directory)/openssl")
        try Data(PushLoad.body).write(to: URL(fileURLWithPath: "\(directory)/body"))
    }

    /// Makes a server's key and a self-signed certificate.
    static func makeIdentity(key: String, certificate: String, output: String) throws {
        let openssl = try PinnedProcess(
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
            ], processor: 1, output: output)
        _ = try openssl.wait()
    }

    private var key: String { "\(directory)/key.pem" }
    private var certificate: String { "\(directory)/certificate.pem" }

    // MARK: One round

    private func clients() throws {
        let server = try nghttpd()
        let port = try server.listeningPort()
        note("h2load as client", try h2load(port).wait())
        note("our client", try ourClient(port).wait())
        _ = server.stop()
    }

    private func servers() throws {
        let peer = try nghttpd()
        _ = try h2load(try peer.listeningPort()).wait()
        note("nghttpd as server", peer.stop())
        let server = try ourServer()
        _ = try h2load(try server.listeningPort()).wait()
        note("our server", server.stop())
    }

    private func note(_ name: String, _ cost: PinnedProcess.Cost) {
        let hundredThousands = Double(options.requests) / 100_000
        series[name, default: []].append(cost.processorSeconds / hundredThousands)
        systems[name, default: []].append(cost.systemSeconds / hundredThousands)
    }

    // MARK: The processes

    private func nghttpd() throws -> PinnedProcess {
        try PinnedProcess(
            ["nghttpd", "-d", "\(directory)/www", "-m", String(options.streams), "0", key, certificate],
            processor: 0, output: "\(directory)/nghttpd")
    }

    private func ourServer() throws -> PinnedProcess {
        try PinnedProcess(
            [ourselves, "http2", "--server", "--certificate", certificate, "--key", key], processor: 0,
            output: "\(directory)/server")
    }

    private func ourClient(_ port: Int) throws -> PinnedProcess {
        try PinnedProcess(
            [
                ourselves, "http2", "--client", String(port), "--certificate", certificate, "--requests",
                String(options.requests), "--streams", String(options.streams), "--connections",
                String(options.connections),
            ], processor: 1, output: "\(directory)/client")
    }

    private func h2load(_ port: Int) throws -> PinnedProcess {
        let uris = (0..<PushLoad.tokens).map { "https://127.0.0.1:\(port)\(PushLoad.path($0))" }
        try uris.joined(separator: "\n").write(
            toFile: "\(directory)/uris", atomically: false, encoding: .utf8)
        let headers = PushLoad.headers.flatMap { ["-H", "\($0.0): \($0.1)"] }
        return try PinnedProcess(
            [
                "h2load", "-n", String(options.requests), "-c", String(options.connections), "-m",
                String(options.streams), "-t", "1", "-d", "\(directory)/body", "-i", "\(directory)/uris",
            ] + headers, processor: 1, output: "\(directory)/h2load")
    }

    // MARK: Results

    private func report() {
        let client = line("our client", beside: "h2load as client", HTTP2Benchmark.targets.client)
        let server = line("our server", beside: "nghttpd as server", HTTP2Benchmark.targets.server)
        if options.isJSON {
            print("{\"client_ratio\":\(digits(client)),\"server_ratio\":\(digits(server))}")
        }
    }

    private func line(_ ours: String, beside peer: String, _ target: Double) -> Double {
        for name in [peer, ours] {
            let values = (series[name] ?? [0]).sorted()
            let system = digits((systems[name] ?? [0]).median)
            let range = "[\(digits(values[0]))-\(digits(values[values.count - 1]))]"
            say("  \(name): \(digits(values.median)) \(range), of which in the kernel \(system)")
        }
        let ratio = (series[ours] ?? [0]).median / (series[peer] ?? [1]).median
        say("  ratio \(digits(ratio)), wanted at most \(target)")
        return ratio
    }

    private func say(_ text: String) { if !options.isJSON { print(text) } }

    private func digits(_ value: Double) -> String { String(format: "%.3f", value) }
}
