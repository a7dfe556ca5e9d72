internal import Foundation
internal import Glibc
internal import IngestTesting
internal import Jobs
internal import Kafka
internal import Lifecycle
internal import ProcessTesting
internal import SenderTesting
internal import Telemetry
internal import Topics

/// The measurements of the sender as a separate process, between a cluster full of jobs and a server that answers
/// every push with 200. Each round starts a new sender.
final class SenderUnderTest {
    /// The results of one client, by round.
    private struct ClientSeries {
        /// Pushes per second.
        var rates: [Double] = []
        /// Processor seconds per 100,000 pushes.
        var costs: [Double] = []
    }

    /// The outcomes of jobs, from their receipts.
    private struct ReceiptTally {
        var accepted = 0
        // The times of the first and the last receipt, in milliseconds since 1970.
        var firstWrittenAt = Int64.max
        var lastWrittenAt = Int64.min
        /// The milliseconds from a job's acceptance to its receipt, for each job.
        var latencies: [Int] = []

        /// Accepted jobs per second between the first and the last receipt.
        var rate: Double {
            guard lastWrittenAt > firstWrittenAt else { return 0 }
            return Double(accepted) / (Double(lastWrittenAt - firstWrittenAt) / 1000)
        }
    }

    private static let lanes = 12
    /// The longest time without a new receipt.
    private static let silenceSecondsMax = 60.0
    /// The duration of the latency measurement.
    private static let latencySeconds = 20.0
    private static let pollIntervalMilliseconds = 5
    /// The streams per connection of h2load. The cheaper of both series counts.
    private static let h2loadStreams = [100, 1_000]

    private let options: SenderBenchmarkOptions
    private let directory: BenchmarkDirectory
    private let cluster: BenchmarkCluster
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
        cluster = try BenchmarkCluster(brokers: options.brokers, orStarting: .broker)
        bed = try TestBed(brokers: cluster.brokers, lanes: Self.lanes)
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
        cluster.stop()
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
        let h2loadCosts = Self.h2loadStreams.map { threeDecimals(h2loadSeries[$0]?.costs.last ?? 0) }.joined(
            separator: ", ")
        print(
            "  round \(roundNumber): sender \(threeDecimals(senderSeries.costs.last ?? 0)) (\(grouped(tally.rate)) pushes a second), "
                + "h2load \(h2loadCosts)")
    }

    func printReport() throws {
        printSummary(name: "sender", series: senderSeries)
        var lowestH2loadCost = Double.infinity
        for streams in Self.h2loadStreams {
            guard let series = h2loadSeries[streams] else { continue }
            printSummary(name: "h2load, 4 × \(streams) streams", series: series)
            lowestH2loadCost = min(lowestH2loadCost, series.costs.median)
        }
        print(
            "  processor ratio \(threeDecimals(senderSeries.costs.median / lowestH2loadCost)) of the cheaper h2load, wanted at most "
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
        guard text.contains(" \(options.jobs) succeeded"), let unit = text.range(of: " req/s"),
            let rate = text[..<unit.lowerBound].split(separator: " ").last.flatMap({ Double($0) })
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
        let warmUpHead = load.makeUpdateHead(of: "warm")
        load.write(warmUpHead, to: 0..<options.jobsPerSheet)
        _ = try waitForReceipts(
            jobCount: options.jobsPerSheet, send: warmUpHead.send, watch: watch, process: process)
        let rate = senderSeries.rates.median / 2
        var sheetJobs = ReceiptTally()
        var singleJobs = ReceiptTally()
        var singleSends: Set<String> = []
        var writtenJobs = 0
        let start = Instant.now()
        func pollReceipts(waitMilliseconds: Int32) {
            watch.poll(waitMilliseconds: waitMilliseconds) { receipt in
                if singleSends.contains(receipt.send) {
                    add(receipt, to: &singleJobs)
                } else {
                    add(receipt, to: &sheetJobs)
                }
            }
        }
        while case let elapsed = Instant.now().seconds(since: start), elapsed < Self.latencySeconds {
            while Double(writtenJobs) < elapsed * rate {
                load.write(
                    load.makeUpdateHead(of: "latency-\(writtenJobs)"),
                    to: writtenJobs..<writtenJobs + options.jobsPerSheet)
                writtenJobs += options.jobsPerSheet
            }
            let single = load.makeUpdateHead(of: "single-\(singleSends.count)")
            singleSends.insert(single.send)
            load.write(single, to: writtenJobs..<writtenJobs + 1, topic: .jobsUrgent)
            pollReceipts(waitMilliseconds: 0)
            usleep(UInt32(Self.pollIntervalMilliseconds) * 1000)
        }
        guard load.finish() else { throw BenchmarkFailure("the jobs were not stored") }
        let deadline = Instant.now().advanced(byMilliseconds: 60_000)
        while sheetJobs.accepted < writtenJobs || singleJobs.accepted < singleSends.count {
            guard Instant.now() < deadline else { throw BenchmarkFailure("receipts are missing") }
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

    /// Waits until this many jobs of a send were accepted.
    private func waitForReceipts(
        jobCount: Int, send: String, watch: ReceiptWatcher, process: PinnedProcess
    ) throws -> ReceiptTally {
        var tally = ReceiptTally()
        var lastReceiptAt = Instant.now()
        while tally.accepted < jobCount {
            let acceptedBefore = tally.accepted
            watch.poll(waitMilliseconds: 100) { if $0.send == send { add($0, to: &tally) } }
            if tally.accepted > acceptedBefore { lastReceiptAt = .now() }
            if Instant.now().seconds(since: lastReceiptAt) > Self.silenceSecondsMax {
                throw BenchmarkFailure(
                    "\(jobCount - tally.accepted) jobs have no receipt: \(process.outputText().suffix(1_000))"
                )
            }
        }
        return tally
    }

    private func add(_ receipt: Receipt, to tally: inout ReceiptTally) {
        for part in receipt.parts where part.outcome == .accepted {
            let count = part.lines.count
            tally.accepted += count
            tally.firstWrittenAt = min(tally.firstWrittenAt, receipt.writtenAt)
            tally.lastWrittenAt = max(tally.lastWrittenAt, receipt.writtenAt)
            let latency = Int(max(0, receipt.writtenAt - receipt.acceptedAt))
            tally.latencies.append(contentsOf: repeatElement(latency, count: count))
        }
    }
}
