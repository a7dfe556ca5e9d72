internal import Foundation

/// h2load as the peer of the sender: as many pushes to the same server, over four connections. It runs on processor 1.
struct SenderPeer {
    private static let connections = 4

    /// The directory of the file `body`, and for the files of h2load.
    let directory: String
    /// The port of the server.
    let port: Int
    let pushCount: Int

    /// Sends all pushes. Throws if one of them did not succeed.
    ///
    /// - Parameter streams: the pushes that each connection keeps open.
    /// - Returns: pushes per second, and the processor seconds of the whole process.
    func run(streams: Int) throws -> (rate: Double, processorSeconds: Double) {
        let uris = (0..<PushLoad.tokenCount).map { "https://127.0.0.1:\(port)\(PushLoad.path(at: $0))" }
        try uris.joined(separator: "\n").write(
            toFile: "\(directory)/uris", atomically: false, encoding: .utf8)
        let process = try PinnedProcess(
            command: [
                "h2load", "-n", String(pushCount), "-c", String(Self.connections), "-m", String(streams),
                "-t", "1", "-d", "\(directory)/body", "-i", "\(directory)/uris",
            ] + headerArguments, processor: 1, output: "\(directory)/h2load")
        let cost = try process.wait()
        return (try rate(inOutput: process.outputText()), cost.processorSeconds)
    }

    /// The headers of every push. h2load cannot vary them, so the apns-id is always the same.
    private var headerArguments: [String] {
        let headers = PushLoad.headers + [("apns-id", "4d3f8a11-22c3-4e5f-0000-000000000000")]
        return headers.flatMap { ["-H", "\($0.0): \($0.1)"] }
    }

    /// Returns the number before "req/s". h2load continues when pushes fail, so the number of successes is checked.
    private func rate(inOutput text: String) throws -> Double {
        guard text.contains(" \(pushCount) succeeded"), let unit = text.range(of: " req/s"),
            let rate = text[..<unit.lowerBound].split(separator: " ").last.flatMap({ Double($0) })
        else { throw BenchmarkFailure("pushes of h2load failed: \(text.suffix(700))") }
        return rate
    }
}
