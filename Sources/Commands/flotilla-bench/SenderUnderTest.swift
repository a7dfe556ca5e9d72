internal import Foundation
internal import Glibc
internal import IngestTesting
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import SenderTesting
internal import Telemetry
internal import Topics

/// A server that answers every push, a cluster full of jobs, and the sender as a separate process.
final class SenderUnderTest {
    private struct Series {
        var rates: [Double] = []
        var costs: [Double] = []
    }

    /// The outcomes of jobs, from their receipts.
    private struct Heard {
        var accepted = 0
        var first = Int64.max
        var last = Int64.min
        var latencies: [Int] = []

        var rate: Double { last > first ? Double(accepted) / (Double(last - first) / 1000) : 0 }
    }

    private static let lanes = 12
    private static let startSecondsMax = 60.0
    private static let latencySeconds = 20.0
    private static let paceMilliseconds = 5
    private static let h2loadStreams = [100, 1_000]

    private let options: SenderBenchmarkOptions
    private let directory: BenchmarkDirectory
    private let peer: BrokerPeer?
    private let bed: IngestBed
    private let load: JobLoad
    private let server: PinnedProcess
    private let port: Int
    private var rounds = 0
    private var sender = Series()
    private var peers: [Int: Series] = [:]
    private let ourselves = CommandLine.arguments[0]

    init(_ options: SenderBenchmarkOptions) throws {
        self.options = options
        let directory = try BenchmarkDirectory()
        self.directory = directory
        let path = directory.path
        try HTTP2Rounds.makeIdentity(
            key: "\(path)/key.pem", certificate: "\(path)/certificate.pem", output: "\(path)/openssl")
        try SenderBed.makeKeys(in: "\(path)/keys")
        try Data(repeating: UInt8(ascii: "x"), count: options.bodyBytes).write(
            to: URL(fileURLWithPath: "\(path)/body"))
        peer =
            try options.brokers == nil
            ? BrokerPeer(.broker, shape: BrokerShape(compression: .zstd, partitions: 1)) : nil
        let brokers = options.brokers ?? [peer?.address ?? ""]
        bed = try IngestBed(brokers, lanes: Self.lanes)
        load = try JobLoad(bed, bodyBytes: options.bodyBytes, jobsPerSheet: options.jobsPerSheet)
        server = try PinnedProcess(
            [
                ourselves, "http2", "--server", "--certificate", "\(path)/certificate.pem", "--key",
                "\(path)/key.pem",
            ], processor: 0, output: "\(path)/server")
        port = try server.listeningPort()
    }

    deinit {
        // The server has inherited the pipe whose end stops the broker.
        _ = server.stop()
        peer?.end()
    }

    // MARK: Rounds

    func round() throws {
        rounds += 1
        for streams in Self.h2loadStreams { try roundOfPeer(streams) }
        let head = load.update(of: "round-\(rounds)")
        load.write(head, to: 0..<options.jobs)
        guard load.finish() else { throw BenchmarkFailure("the jobs were not stored") }
        let watch = try ReceiptWatch(bed)
        defer { watch.close() }
        let process = try startSender()
        let heard = try hear(options.jobs, of: head.send, by: watch, process)
        let cost = try process.terminate()
        sender.rates.append(heard.rate)
        sender.costs.append(cost.processorSeconds / Double(options.jobs) * 100_000)
        let theirs = Self.h2loadStreams.map { digits(peers[$0]?.costs.last ?? 0) }.joined(separator: ", ")
        print(
            "  round \(rounds): sender \(digits(sender.costs.last ?? 0)) (\(grouped(heard.rate)) pushes a second), "
                + "h2load \(theirs)")
    }

    func report() throws {
        describe("sender", sender)
        var least = Double.infinity
        for streams in Self.h2loadStreams {
            guard let series = peers[streams] else { continue }
            describe("h2load, 4 × \(streams) streams", series)
            least = min(least, series.costs.median)
        }
        print(
            "  processor ratio \(digits(sender.costs.median / least)) of the cheaper h2load, wanted at most "
                + "\(SenderBenchmark.target)")
    }

    private func roundOfPeer(_ streams: Int) throws {
        let uris = (0..<PushLoad.tokens).map { "https://127.0.0.1:\(port)\(PushLoad.path($0))" }
        let path = directory.path
        try uris.joined(separator: "\n").write(toFile: "\(path)/uris", atomically: false, encoding: .utf8)
        let headers =
            (PushLoad.headers + [("apns-id", "4d3f8a11-22c3-4e5f-0000-000000000000")]).flatMap {
                ["-H", "\($0.0): \($0.1)"]
            }
        let process = try PinnedProcess(
            [
                "h2load", "-n", String(options.jobs), "-c", "4", "-m", String(streams), "-t", "1", "-d",
                "\(path)/body", "-i", "\(path)/uris",
            ] + headers, processor: 1, output: "\(path)/h2load")
        let cost = try process.wait()
        let text = process.text()
        guard text.contains(" \(options.jobs) succeeded"), let end = text.range(of: " req/s"),
            let rate = text[..<end.lowerBound].split(separator: " ").last.flatMap({ Double($0) })
        else { throw BenchmarkFailure("pushes of h2load failed: \(text.suffix(700))") }
        peers[streams, default: Series()].rates.append(rate)
        peers[streams, default: Series()].costs.append(
            cost.processorSeconds / Double(options.jobs) * 100_000)
    }

    private func describe(_ name: String, _ series: Series) {
        let costs = series.costs.sorted()
        let range = "[\(digits(costs[0]))-\(digits(costs[costs.count - 1]))]"
        print(
            "  \(name): \(grouped(series.rates.median)) pushes a second, processor \(digits(costs.median)) \(range)"
        )
    }

    private func digits(_ value: Double) -> String { String(format: "%.3f", value) }

    // MARK: Latency

    /// Measures the time from a written job to the receipt of its answer, at half the full rate.
    func measureLatency() throws {
        let watch = try ReceiptWatch(bed)
        defer { watch.close() }
        let process = try startSender()
        // The first jobs open connections, so they do not count.
        let warm = load.update(of: "warm")
        load.write(warm, to: 0..<options.jobsPerSheet)
        _ = try hear(options.jobsPerSheet, of: warm.send, by: watch, process)
        let rate = sender.rates.median / 2
        var sheets = Heard()
        var singles = Heard()
        var names: Set<String> = []
        var written = 0
        let begun = Instant.now()
        func listen(_ wait: Int32) {
            watch.poll(waitMilliseconds: wait) { receipt in
                if names.contains(receipt.send) {
                    note(receipt, in: &singles)
                } else {
                    note(receipt, in: &sheets)
                }
            }
        }
        while case let elapsed = Instant.now().seconds(since: begun), elapsed < Self.latencySeconds {
            while Double(written) < elapsed * rate {
                load.write(
                    load.update(of: "latency-\(written)"), to: written..<written + options.jobsPerSheet)
                written += options.jobsPerSheet
            }
            let single = load.update(of: "single-\(names.count)")
            names.insert(single.send)
            load.write(single, to: written..<written + 1, topic: .jobsUrgent)
            listen(0)
            usleep(UInt32(Self.paceMilliseconds) * 1000)
        }
        guard load.finish() else { throw BenchmarkFailure("the jobs were not stored") }
        let limit = Instant.now().advanced(byMilliseconds: 60_000)
        while sheets.accepted < written || singles.accepted < names.count {
            guard Instant.now() < limit else { throw BenchmarkFailure("receipts are missing") }
            listen(10)
        }
        _ = try process.terminate()
        print(
            "  at half the rate (\(grouped(rate)) a second), from a written job to the receipt of its answer:"
        )
        print("    a job of a sheet of \(options.jobsPerSheet): \(percentiles(sheets.latencies))")
        print("    one user's job beside them: \(percentiles(singles.latencies))")
    }

    private func percentiles(_ latencies: [Int]) -> String {
        let sorted = latencies.sorted()
        func at(_ share: Double) -> Int { sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))] }
        return "\(at(0.5)) ms median, \(at(0.95)) ms p95, \(at(0.99)) ms p99, \(at(1)) ms at most"
    }

    // MARK: Memory

    func measureMemory(_ backlog: Int) throws {
        print("sender: \(grouped(Double(backlog))) jobs wait, in sheets of \(options.jobsPerSheet)")
        let head = load.update(of: "backlog")
        load.write(head, to: 0..<backlog)
        guard load.finish() else { throw BenchmarkFailure("the jobs were not stored") }
        let watch = try ReceiptWatch(bed)
        defer { watch.close() }
        let process = try startSender()
        let memory = PrivateMemory(of: process.identifier)
        let heard = try hear(backlog, of: head.send, by: watch, process)
        let most = memory.stop()
        let cost = try process.terminate()
        print(
            "  all have their receipts: \(grouped(heard.rate)) pushes a second, "
                + "processor \(digits(cost.processorSeconds / Double(backlog) * 100_000)) s per 100,000")
        print(
            "  private memory at most \(most) MiB, wanted under \(SenderBenchmark.memoryMiBMax); with files \(cost.peakMemoryMiB) MiB"
        )
        guard most < SenderBenchmark.memoryMiBMax else { throw BenchmarkFailure("too much memory") }
    }

    // MARK: The process

    private func startSender() throws -> PinnedProcess {
        let path = directory.path
        return try PinnedProcess(
            [
                ourselves, "sender-worker", "--brokers", bed.settings.brokers.joined(separator: ","),
                "--prefix", bed.layout.prefix, "--lanes", String(Self.lanes), "--data", "\(path)/data",
                "--keys", "\(path)/keys", "--apns", "127.0.0.1:\(port)", "--authorities",
                "\(path)/certificate.pem",
            ], processor: 1, output: "\(path)/sender")
    }

    /// Waits for the receipts of this many jobs.
    private func hear(
        _ jobs: Int, of send: String, by watch: ReceiptWatch, _ process: PinnedProcess
    ) throws -> Heard {
        var heard = Heard()
        var last = Instant.now()
        while heard.accepted < jobs {
            let before = heard.accepted
            watch.poll(waitMilliseconds: 100) { if $0.send == send { note($0, in: &heard) } }
            if heard.accepted > before { last = .now() }
            if Instant.now().seconds(since: last) > Self.startSecondsMax {
                throw BenchmarkFailure(
                    "\(jobs - heard.accepted) jobs have no receipt: \(process.text().suffix(1_000))")
            }
        }
        return heard
    }

    private func note(_ receipt: Receipt, in heard: inout Heard) {
        for part in receipt.parts where part.outcome == .accepted {
            let count = part.lines.count
            heard.accepted += count
            heard.first = min(heard.first, receipt.writtenAt)
            heard.last = max(heard.last, receipt.writtenAt)
            let latency = Int(max(0, receipt.writtenAt - receipt.acceptedAt))
            heard.latencies.append(contentsOf: repeatElement(latency, count: count))
        }
    }
}
