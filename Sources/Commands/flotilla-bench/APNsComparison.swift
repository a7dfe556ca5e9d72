internal import Foundation

/// A run of our APNs client and h2load, shape by shape and round by round, so that the noise of a shared machine
/// affects both. It compares medians.
final class APNsComparison {
    private let options: APNsOptions
    private let directory = "/dev/shm/flotilla-bench-\(getpid())"
    private let benchmarkProgram = CommandLine.arguments[0]
    private var key: String { "\(directory)/key.pem" }
    private var certificate: String { "\(directory)/certificate.pem" }

    init(options: APNsOptions) throws {
        self.options = options
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    func run() throws {
        try HTTP2Comparison.makeIdentity(key: key, certificate: certificate, output: "\(directory)/openssl")
        print(
            "apns: \(options.requests) pushes to \(PushLoad.tokenCount) tokens, \(APNsOptions.connections) connections,"
                + " TLS 1.3, median [range] of \(options.rounds) rounds;")
        print("processor seconds per 100,000 pushes of the whole process")
        for shape in options.shapes { try compare(shape) }
    }

    private func compare(_ shape: APNsOptions.Shape) throws {
        try Data(repeating: UInt8(ascii: "x"), count: shape.bodyBytes).write(
            to: URL(fileURLWithPath: "\(directory)/body"))
        var ours = ClientSeries()
        var theirs = ClientSeries()
        for _ in 0..<options.rounds {
            let server = try startServer()
            let port = try server.listeningPort()
            try recordResult(of: try startH2load(port: port, shape: shape), in: &theirs)
            try recordResult(of: try startOurClient(port: port, shape: shape), in: &ours)
            _ = server.stop()
        }
        print("  \(shape.streams) streams, \(shape.bodyBytes) bytes")
        print("    our client: \(ours.summary)")
        print("    h2load: \(theirs.summary)")
        let ratio = String(format: "%.3f", ours.costs.median / theirs.costs.median)
        print("    processor ratio \(ratio), wanted at most \(APNsBenchmark.processorShareWanted)")
    }

    // MARK: The processes

    private func recordResult(of client: PinnedProcess, in series: inout ClientSeries) throws {
        let cost = try client.wait()
        let text = client.outputText()
        guard let rate = number(before: " req/s", in: text) else {
            throw BenchmarkFailure("a client printed no rate: \(text.suffix(500))")
        }
        // h2load continues when pushes fail, so the count is checked.
        let isH2load = text.contains("requests:")
        if isH2load, !text.contains(" \(options.requests) succeeded") {
            throw BenchmarkFailure("pushes of h2load failed: \(text.suffix(700))")
        }
        // Our client also counts the pushes before its measurement, because its processor time includes them.
        let pushes = number(after: "pushes ", in: text) ?? options.requests
        series.append(rate: rate, processorSeconds: cost.processorSeconds, pushCount: pushes)
    }

    private func number(before word: String, in text: String) -> Double? {
        guard let range = text.range(of: word) else { return nil }
        return text[..<range.lowerBound].split(separator: " ").last.flatMap { Double($0) }
    }

    private func number(after word: String, in text: String) -> Int? {
        guard let range = text.range(of: word) else { return nil }
        return Int(text[range.upperBound...].prefix { $0.isNumber })
    }

    private func startServer() throws -> PinnedProcess {
        try PinnedProcess(
            command: [benchmarkProgram, "http2", "--server", "--certificate", certificate, "--key", key],
            processor: 0,
            output: "\(directory)/server")
    }

    private func startOurClient(port: Int, shape: APNsOptions.Shape) throws -> PinnedProcess {
        try PinnedProcess(
            command: [
                benchmarkProgram, "apns", "--client", String(port), "--certificate", certificate, "--key",
                key,
                "--requests", String(options.requests), "--streams", String(shape.streams), "--body-bytes",
                String(shape.bodyBytes),
            ], processor: 1, output: "\(directory)/client")
    }

    /// Starts h2load. Its headers, and so its apns-id, are the same for all requests, because it cannot vary
    /// them.
    private func startH2load(port: Int, shape: APNsOptions.Shape) throws -> PinnedProcess {
        let uris = (0..<PushLoad.tokenCount).map { "https://127.0.0.1:\(port)\(PushLoad.path(at: $0))" }
        try uris.joined(separator: "\n").write(
            toFile: "\(directory)/uris", atomically: false, encoding: .utf8)
        let headers =
            (PushLoad.headers + [("apns-id", "4d3f8a11-22c3-4e5f-0000-000000000000")]).flatMap {
                ["-H", "\($0.0): \($0.1)"]
            }
        return try PinnedProcess(
            command: [
                "h2load", "-n", String(options.requests), "-c", String(APNsOptions.connections), "-m",
                String(shape.streams), "-t", "1", "-d", "\(directory)/body", "-i", "\(directory)/uris",
            ] + headers, processor: 1, output: "\(directory)/h2load")
    }
}
