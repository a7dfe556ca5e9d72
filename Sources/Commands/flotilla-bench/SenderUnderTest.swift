internal import Foundation
internal import Glibc
internal import IngestTesting
internal import Jobs
internal import Kafka
internal import Lifecycle
internal import SenderTesting
internal import Telemetry
internal import Topics

/// A server that answers every push, a cluster full of jobs, and the sender as a separate process.
final class SenderUnderTest {
    private struct ClientSeries {
        var rates: [Double] = []
        var costs: [Double] = []
    }

    /// The outcomes of jobs, from their receipts.
    private struct ReceiptTally {
        var accepted = 0
        var first = Int64.max
        var last = Int64.min
        var latencies: [Int] = []

        var rate: Double { last > first ? Double(accepted) / (Double(last - first) / 1000) : 0 }
    }

    private static let lanes = 12
    private static let silenceSecondsMax = 60.0
    private static let latencySeconds = 20.0
    private static let pollIntervalMilliseconds = 5
    private static let h2loadStreams = [100, 1_000]

    private let options: SenderBenchmarkOptions
    private let directory: BenchmarkDirectory
    private let broker: BrokerProcess?
    private let bed: TestBed
    private let load: JobLoad
    private let apnsServer: PinnedProcess
    private let port: Int
    private var roundNumber = 0
    private var senderSeries = ClientSeries()
    private var h2loadSeries: [Int: ClientSeries] = [:]
    private let benchmarkProgram = CommandLine.arguments[0]

    init(options: SenderBenchmarkOptions) throws {
        self.options = options
        let directory = try BenchmarkDirectory()
        self.directory = directory
        let path = directory.path
        try HTTP2Comparison.makeIdentity(
            key: "\(path)/key.pem", certificate: "\(path)/certificate.pem", output: "\(path)/openssl")
        try SenderTestApps.makeKeys(in: "\(path)/keys")
        try Data(repeating: UInt8(ascii: "x"), count: options.bodyBytes).write(
            to: URL(fileURLWithPath: "\(path)/body"))
        broker =
            try options.brokers == nil
            ? BrokerProcess(.broker, shape: BrokerShape(compression: .zstd, partitions: 1)) : nil
        let brokers = options.brokers ?? [broker?.address ?? ""]
        bed = try TestBed(brokers: brokers, lanes: Self.lanes)
        load = try JobLoad(on: bed, bodyBytes: options.bodyBytes, jobsPerSheet: options.jobsPerSheet)
        apnsServer = try PinnedProcess(
            command: [
                benchmarkProgram, "http2", "--server", "--certificate", "\(path)/certificate.pem", "--key",
                "\(path)/key.pem",
            ], processor: 0, output: "\(path)/server")
        port = try apnsServer.listeningPort()
    }

    deinit {
        // The server has inherited the pipe whose end stops the broker.
        _ = apnsServer.stop()
        broker?.stop()
    }

    // MARK: Rounds

    func runRound() throws {
        roundNumber += 1
        for streams in Self.h2loadStreams { try runH2loadRound(streams: streams) }
        let head = load.makeUpdateHead(of: "round-\(roundNumber)")
        load.write(head, to: 0..<options.jobs)
        guard load.finish() else { throw BenchmarkFailure("the jobs were not stored") }
        let watch = try ReceiptWatcher(on: bed)
        defer { watch.close() }
        let process = try startSender()
        let tally = try waitForReceipts(
            jobCount: options.jobs, send: head.send, watch: watch, process: process)
        let cost = try process.terminate()
        senderSeries.rates.append(tally.rate)
        senderSeries.costs.append(cost.processorSeconds / Double(options.jobs) * 100_000)
        let theirs = Self.h2loadStreams.map { threeDecimals(h2loadSeries[$0]?.costs.last ?? 0) }.joined(
            separator: ", ")
        print(
            "  round \(roundNumber): sender \(threeDecimals(senderSeries.costs.last ?? 0)) (\(grouped(tally.rate)) pushes a second), "
                + "h2load \(theirs)")
    }

    func printReport() throws {
        printSummary(name: "sender", series: senderSeries)
        var cheapest = Double.infinity
        for streams in Self.h2loadStreams {
            guard let series = h2loadSeries[streams] else { continue }
            printSummary(name: "h2load, 4 × \(streams) streams", series: series)
            cheapest = min(cheapest, series.costs.median)
        }
        print(
            "  processor ratio \(threeDecimals(senderSeries.costs.median / cheapest)) of the cheaper h2load, wanted at most "
                + "\(SenderBenchmark.target)")
    }

    private func runH2loadRound(streams: Int) throws {
        let uris = (0..<PushLoad.tokenCount).map { "https://127.0.0.1:\(port)\(PushLoad.path(at: $0))" }
        let path = directory.path
        try uris.joined(separator: "\n").write(toFile: "\(path)/uris", atomically: false, encoding: .utf8)
        let headers =
            (PushLoad.headers + [("apns-id", "4d3f8a11-22c3-4e5f-0000-000000000000")]).flatMap {
                ["-H", "\($0.0): \($0.1)"]
            }
        let process = try PinnedProcess(
            command: [
                "h2load", "-n", String(options.jobs), "-c", "4", "-m", String(streams), "-t", "1", "-d",
                "\(path)/body", "-i", "\(path)/uris",
            ] + headers, processor: 1, output: "\(path)/h2load")
        let cost = try process.wait()
        let text = process.outputText()
        guard text.contains(" \(options.jobs) succeeded"), let end = text.range(of: " req/s"),
            let rate = text[..<end.lowerBound].split(separator: " ").last.flatMap({ Double($0) })
        else { throw BenchmarkFailure("pushes of h2load failed: \(text.suffix(700))") }
        h2loadSeries[streams, default: ClientSeries()].rates.append(rate)
        h2loadSeries[streams, default: ClientSeries()].costs.append(
            cost.processorSeconds / Double(options.jobs) * 100_000)
    }

    private func printSummary(name: String, series: ClientSeries) {
        let costs = series.costs.sorted()
        let range = "[\(threeDecimals(costs[0]))-\(threeDecimals(costs[costs.count - 1]))]"
        print(
            "  \(name): \(grouped(series.rates.median)) pushes a second, processor \(threeDecimals(costs.median)) \(range)"
        )
    }

    private func threeDecimals(_ value: Double) -> String { String(format: "%.3f", value) }

    // MARK: Latency

    /// Measures the time from a written job to the receipt of its answer, at half the full rate.
    func measureLatency() throws {
        let watch = try ReceiptWatcher(on: bed)
        defer { watch.close() }
        let process = try startSender()
        // The first jobs open connections, so they do not count.
        let warm = load.makeUpdateHead(of: "warm")
        load.write(warm, to: 0..<options.jobsPerSheet)
        _ = try waitForReceipts(
            jobCount: options.jobsPerSheet, send: warm.send, watch: watch, process: process)
        let rate = senderSeries.rates.median / 2
        var sheetJobs = ReceiptTally()
        var singleJobs = ReceiptTally()
        var singleSends: Set<String> = []
        var written = 0
        let begun = Instant.now()
        func pollReceipts(waitMilliseconds wait: Int32) {
            watch.poll(waitMilliseconds: wait) { receipt in
                if singleSends.contains(receipt.send) {
                    add(receipt, to: &singleJobs)
                } else {
                    add(receipt, to: &sheetJobs)
                }
            }
        }
        while case let elapsed = Instant.now().seconds(since: begun), elapsed < Self.latencySeconds {
            while Double(written) < elapsed * rate {
                load.write(
                    load.makeUpdateHead(of: "latency-\(written)"),
                    to: written..<written + options.jobsPerSheet)
                written += options.jobsPerSheet
            }
            let single = load.makeUpdateHead(of: "single-\(singleSends.count)")
            singleSends.insert(single.send)
            load.write(single, to: written..<written + 1, topic: .jobsUrgent)
            pollReceipts(waitMilliseconds: 0)
            usleep(UInt32(Self.pollIntervalMilliseconds) * 1000)
        }
        guard load.finish() else { throw BenchmarkFailure("the jobs were not stored") }
        let limit = Instant.now().advanced(byMilliseconds: 60_000)
        while sheetJobs.accepted < written || singleJobs.accepted < singleSends.count {
            guard Instant.now() < limit else { throw BenchmarkFailure("receipts are missing") }
            pollReceipts(waitMilliseconds: 10)
        }
        _ = try process.terminate()
        print(
            "  at half the rate (\(grouped(rate)) a second), from a written job to the receipt of its answer:"
        )
        print(
            "    a job of a sheet of \(options.jobsPerSheet): \(describePercentiles(of: sheetJobs.latencies))"
        )
        print("    one user's job beside them: \(describePercentiles(of: singleJobs.latencies))")
    }

    private func describePercentiles(of latencies: [Int]) -> String {
        let sorted = latencies.sorted()
        func milliseconds(at share: Double) -> Int {
            sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
        }
        return
            "\(milliseconds(at: 0.5)) ms median, \(milliseconds(at: 0.95)) ms p95, \(milliseconds(at: 0.99)) ms p99, \(milliseconds(at: 1)) ms at most"
    }

    // MARK: Memory

    func measureMemory(backlog: Int) throws {
        print("sender: \(grouped(Double(backlog))) jobs wait, in sheets of \(options.jobsPerSheet)")
        let head = load.makeUpdateHead(of: "backlog")
        load.write(head, to: 0..<backlog)
        guard load.finish() else { throw BenchmarkFailure("the jobs were not stored") }
        let watch = try ReceiptWatcher(on: bed)
        defer { watch.close() }
        let process = try startSender()
        let memory = PrivateMemorySampler(of: process.identifier)
        let tally = try waitForReceipts(jobCount: backlog, send: head.send, watch: watch, process: process)
        let peakMiB = memory.stop()
        let cost = try process.terminate()
        print(
            "  all have their receipts: \(grouped(tally.rate)) pushes a second, "
                + "processor \(threeDecimals(cost.processorSeconds / Double(backlog) * 100_000)) s per 100,000"
        )
        print(
            "  private memory at most \(peakMiB) MiB, wanted under \(SenderBenchmark.memoryMiBMax); with files \(cost.peakMemoryMiB) MiB"
        )
        guard peakMiB < SenderBenchmark.memoryMiBMax else { throw BenchmarkFailure("too much memory") }
    }

    // MARK: The process

    private func startSender() throws -> PinnedProcess {
        let path = directory.path
        return try PinnedProcess(
            command: [
                benchmarkProgram, "sender-worker", "--brokers", bed.settings.brokers.joined(separator: ","),
                "--prefix", bed.layout.prefix, "--lanes", String(Self.lanes), "--data", "\(path)/data",
                "--keys", "\(path)/keys", "--apns", "127.0.0.1:\(port)", "--authorities",
                "\(path)/certificate.pem",
            ], processor: 1, output: "\(path)/sender")
    }

    /// Waits for the receipts of this many jobs.
    private func waitForReceipts(
        jobCount jobs: Int, send: String, watch: ReceiptWatcher, process: PinnedProcess
    ) throws -> ReceiptTally {
        var tally = ReceiptTally()
        var last = Instant.now()
        while tally.accepted < jobs {
            let before = tally.accepted
            watch.poll(waitMilliseconds: 100) { if $0.send == send { add($0, to: &tally) } }
            if tally.accepted > before { last = .now() }
            if Instant.now().seconds(since: last) > Self.silenceSecondsMax {
                throw BenchmarkFailure(
                    "\(jobs - tally.accepted) jobs have no receipt: \(process.outputText().suffix(1_000))")
            }
        }
        return tally
    }

    private func add(_ receipt: Receipt, to heard: inout ReceiptTally) {
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
