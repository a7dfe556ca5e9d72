internal import Foundation
internal import IngestTesting
internal import Jobs
internal import Kafka
internal import Lifecycle
internal import ProcessTesting
internal import SenderTesting
internal import Telemetry
internal import Topics

/// The sender as a separate process, between a cluster full of jobs and a server that answers every push with 200.
/// `SenderBenchmark` measures its rate and its cost against h2load's, then its latency, or only its memory. Each
/// measurement starts a new sender.
final class SenderUnderTest {
    private static let lanes = 12
    /// The longest time without a new receipt.
    private static let silenceSecondsMax = 60.0
    /// The streams per connection of h2load. The cheaper of both series counts.
    private static let h2loadStreams = [100, 1_000]
    private static let benchmarkProgram = CommandLine.arguments[0]

    private let options: SenderBenchmarkOptions
    private let directory: BenchmarkDirectory
    private let cluster: BenchmarkCluster
    private let bed: TestBed
    private let load: JobLoad
    private let apnsServer: PinnedProcess
    private let port: Int
    private let peer: SenderPeer

    private var roundNumber = 0
    private var senderSeries = ClientSeries()
    /// By the streams per connection.
    private var h2loadSeries: [Int: ClientSeries] = [:]

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
        apnsServer = try Self.startServer(in: path)
        port = try apnsServer.listeningPort()
        peer = SenderPeer(directory: path, port: port, pushCount: options.jobs)
    }

    deinit {
        // The broker stops when the last copy of a pipe closes, and the server has inherited one. So the server is
        // stopped first.
        _ = apnsServer.stop()
        cluster.stop()
    }

    // MARK: Rate and cost

    /// Runs h2load and then the sender, each with all pushes.
    func runRound() throws {
        roundNumber += 1
        for streams in Self.h2loadStreams {
            let result = try peer.run(streams: streams)
            h2loadSeries[streams, default: ClientSeries()].append(
                rate: result.rate, processorSeconds: result.processorSeconds, pushCount: options.jobs)
        }
        let send = try writeBacklog(for: "round-\(roundNumber)", jobCount: options.jobs)
        let watch = try ReceiptWatcher(on: bed)
        defer { watch.close() }
        let process = try startSender()
        let tally = try waitForReceipts(jobCount: options.jobs, send: send, watch: watch, process: process)
        let cost = try process.terminate()
        senderSeries.append(
            rate: tally.rate, processorSeconds: cost.processorSeconds, pushCount: options.jobs)
        let h2loadCosts = Self.h2loadStreams.map { threeDecimals(h2loadSeries[$0]?.costs.last ?? 0) }
        print(
            "  round \(roundNumber): sender \(threeDecimals(senderSeries.costs.last ?? 0)) (\(grouped(tally.rate)) pushes a second), "
                + "h2load \(h2loadCosts.joined(separator: ", "))")
    }

    /// Prints the medians of all rounds, and the sender's cost as a share of the cheaper h2load's.
    func printReport() throws {
        print("  sender: \(senderSeries.summary)")
        var lowestH2loadCost = Double.infinity
        for streams in Self.h2loadStreams {
            guard let series = h2loadSeries[streams] else { continue }
            print("  h2load, 4 × \(streams) streams: \(series.summary)")
            lowestH2loadCost = min(lowestH2loadCost, series.costs.median)
        }
        print(
            "  processor ratio \(threeDecimals(senderSeries.costs.median / lowestH2loadCost)) of the cheaper h2load, wanted at most "
                + "\(SenderBenchmark.processorShareWanted)")
    }

    private func threeDecimals(_ number: Double) -> String { String(format: "%.3f", number) }

    // MARK: Latency

    /// Measures the time from a written job to the receipt of its answer, at half the rate of `runRound`.
    func measureLatency() throws {
        let watch = try ReceiptWatcher(on: bed)
        defer { watch.close() }
        let process = try startSender()
        // The first jobs open connections, so they do not count.
        let warmUpHead = load.makeUpdateHead(of: "warm")
        load.write(warmUpHead, to: 0..<options.jobsPerSheet)
        _ = try waitForReceipts(
            jobCount: options.jobsPerSheet, send: warmUpHead.send, watch: watch, process: process)
        let jobsPerSecond = senderSeries.rates.median / 2
        let measurement = SenderLatencyMeasurement(
            load: load, watch: watch, jobsPerSheet: options.jobsPerSheet, jobsPerSecond: jobsPerSecond)
        try measurement.run()
        _ = try process.terminate()
        print(
            "  at half the rate (\(grouped(jobsPerSecond)) a second), from a written job to the receipt of its answer:"
        )
        print("    a job of a sheet of \(options.jobsPerSheet): \(measurement.sheetJobs.latencySummary)")
        print("    one user's job beside them: \(measurement.singleJobs.latencySummary)")
    }

    // MARK: Memory

    /// Measures the peak of the sender's private memory while jobs wait. Throws if it is above the limit.
    func measureMemory(backlog: Int) throws {
        print("sender: \(grouped(Double(backlog))) jobs wait, in sheets of \(options.jobsPerSheet)")
        let send = try writeBacklog(for: "backlog", jobCount: backlog)
        let watch = try ReceiptWatcher(on: bed)
        defer { watch.close() }
        let process = try startSender()
        let memory = PrivateMemorySampler(of: process.identifier)
        let tally = try waitForReceipts(jobCount: backlog, send: send, watch: watch, process: process)
        let peakMiB = memory.stop()
        let cost = try process.terminate()
        let costText = threeDecimals(
            ClientSeries.cost(ofProcessorSeconds: cost.processorSeconds, pushCount: backlog))
        print(
            "  all have their receipts: \(grouped(tally.rate)) pushes a second, "
                + "processor \(costText) s per 100,000")
        print(
            "  private memory at most \(peakMiB) MiB, wanted under \(SenderBenchmark.memoryMiBMax); with files \(cost.peakMemoryMiB) MiB"
        )
        guard peakMiB < SenderBenchmark.memoryMiBMax else { throw BenchmarkFailure("too much memory") }
    }

    // MARK: Jobs and receipts

    /// Writes an update to phones of a group, and waits until Kafka has stored all its jobs.
    ///
    /// - Returns: the id of the send.
    private func writeBacklog(for group: String, jobCount: Int) throws -> String {
        let head = load.makeUpdateHead(of: group)
        load.write(head, to: 0..<jobCount)
        guard load.finish() else { throw BenchmarkFailure("the jobs were not stored") }
        return head.send
    }

    /// Waits until this many jobs of a send were accepted.
    private func waitForReceipts(
        jobCount: Int, send: String, watch: ReceiptWatcher, process: PinnedProcess
    ) throws -> SenderReceiptTally {
        var tally = SenderReceiptTally()
        var lastReceiptAt = Instant.now()
        while tally.acceptedCount < jobCount {
            let acceptedBefore = tally.acceptedCount
            watch.poll(waitMilliseconds: 100) { if $0.send == send { tally.add($0) } }
            if tally.acceptedCount > acceptedBefore { lastReceiptAt = .now() }
            if Instant.now().seconds(since: lastReceiptAt) > Self.silenceSecondsMax {
                throw BenchmarkFailure(
                    "\(jobCount - tally.acceptedCount) jobs have no receipt: \(process.outputText().suffix(1_000))"
                )
            }
        }
        return tally
    }

    // MARK: The processes

    /// Starts the server that answers every push with 200, on processor 0 and a free port.
    private static func startServer(in directory: String) throws -> PinnedProcess {
        try PinnedProcess(
            command: [
                benchmarkProgram, "http2", "--server", "--certificate", "\(directory)/certificate.pem",
                "--key", "\(directory)/key.pem",
            ], processor: 0, output: "\(directory)/server")
    }

    /// Starts a sender on processor 1.
    private func startSender() throws -> PinnedProcess {
        let path = directory.path
        return try PinnedProcess(
            command: [
                Self.benchmarkProgram, "sender-worker", "--brokers",
                bed.settings.brokers.joined(separator: ","), "--prefix", bed.layout.prefix, "--lanes",
                String(Self.lanes), "--data", "\(path)/data", "--keys", "\(path)/keys", "--apns",
                "127.0.0.1:\(port)", "--authorities", "\(path)/certificate.pem",
            ], processor: 1, output: "\(path)/sender")
    }
}
