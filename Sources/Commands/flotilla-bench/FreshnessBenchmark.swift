internal import APNsSimulator
internal import CatalogRecords
internal import Cryptography
internal import Foundation
internal import Glibc
internal import Identifiers
internal import IngestTesting
internal import Jobs
internal import Kafka
internal import KafkaTesting
internal import Lifecycle
internal import Payloads
internal import ProcessTesting
internal import SenderTesting
internal import Sends
internal import Telemetry
internal import Topics

/// A test with one group that is updated every second while APNs can take only a part of the pushes. It
/// checks that all phones stay near the newest state and that no phone is left out. The second run has no
/// conflation and falls behind more with each second.
enum FreshnessBenchmark {
    struct Options {
        var phones = 200_000
        var seconds = 60
        /// The delay of an answer from APNs. With 1,000 pushes open at a time it sets the rate.
        var answerDelayMilliseconds = 20
        var brokers: [String]?

        init(parsing arguments: [String]) throws {
            var arguments = arguments
            brokers = try BootstrapOption.removeBrokers(from: &arguments)
            var rest = arguments[...]
            while let name = rest.popFirst() {
                guard let number = rest.popFirst().flatMap({ Int($0) }), number > 0 else {
                    throw BenchmarkFailure("\(name) needs a number above 0")
                }
                switch name {
                case "--phones": phones = number
                case "--seconds": seconds = number
                case "--delay-milliseconds": answerDelayMilliseconds = number
                default: throw BenchmarkFailure("\(name) is not known")
                }
            }
        }
    }

    /// The limit on how far a phone may be behind at any moment, in passes.
    static let gapPassesMax = 3.0

    static func run(arguments: [String]) throws {
        let options = try Options(parsing: arguments)
        let shape = BrokerShape(compression: .zstd, partitions: 1)
        let peer = options.brokers == nil ? try BrokerProcess(.broker, shape: shape) : nil
        defer { peer?.stop() }
        let brokers = options.brokers ?? [peer?.address ?? ""]
        print(
            "freshness: \(grouped(Double(options.phones))) phones, an update every second for \(options.seconds) s, "
                + "answers after \(options.answerDelayMilliseconds) ms")
        let conflated = try runBlocking {
            try await FreshnessRun(options: options, brokers: brokers, conflates: true).run()
        }
        print("  newest wins: \(conflated.summary)")
        let plain = try runBlocking {
            try await FreshnessRun(options: options, brokers: brokers, conflates: false).run()
        }
        print("  without conflation: \(plain.summary)")
        guard conflated.unfinishedPhones == 0, conflated.newestAfterSeconds <= conflated.passSeconds,
            conflated.longestGapPasses <= gapPassesMax, plain.behindSecondsMean > conflated.behindSecondsMean
        else { throw BenchmarkFailure("a phone is too far behind, or conflation makes no difference") }
    }
}

/// The deliveries to the phones.
struct Freshness: Sendable {
    /// The share of the written jobs that APNs got, and the rate per second.
    var share = 0.0
    var rate = 0.0
    /// The seconds that all phones take at this rate.
    var passSeconds = 0.0
    /// The seconds from the last update until all phones had it. The run without conflation does not wait for
    /// that.
    var newestAfterSeconds = 0.0
    /// The longest time that a phone got nothing, in passes.
    var longestGapPasses = 0.0
    /// The age of the phones' states when the last update was written: mean and maximum over all phones.
    var behindSecondsMean = 0.0
    var behindSecondsMax = 0.0
    var supersededJobs = 0
    var unfinishedPhones = 0

    var summary: String {
        let text = String(
            format:
                "APNs took %.2f of the jobs, a pass takes %.1f s; at the last update the phones were %.1f s behind in "
                + "the mean, %.1f s at most; the longest without news %.2f passes", share, passSeconds,
            behindSecondsMean,
            behindSecondsMax, longestGapPasses)
        let end =
            unfinishedPhones == 0
            ? String(format: "all had it %.1f s after", newestAfterSeconds)
            : "\(grouped(Double(unfinishedPhones))) did not have it a pass later"
        return "\(text); \(end); \(grouped(Double(supersededJobs))) receipted as superseded"
    }
}

/// One of the two runs.
private final class FreshnessRun {
    private struct Target: Hashable {
        let high: UInt64
        let low: UInt64
    }

    private static let lanes = 12
    private static let jobsPerSheet = 256
    private static let goldenRatio = 0.618_033_988_749_894_9
    private static let pushLifetimeSeconds: Int64 = 3_600

    private let options: FreshnessBenchmark.Options
    private let conflates: Bool
    private let bed: TestBed
    private let writer: JobWriter
    private let receiptWatch: ReceiptWatcher
    private let directory: BenchmarkDirectory
    /// The sheets of each lane, in the order of its phones.
    private var sheets: [[JobLines]] = []
    private var finishedJobs = 0
    private var supersededJobs = 0
    private var writtenAt: [Int64] = []
    private let baseVersion: Int64 = 1_763_600_000

    init(options: FreshnessBenchmark.Options, brokers: [String], conflates: Bool) throws {
        self.options = options
        self.conflates = conflates
        directory = try BenchmarkDirectory()
        bed = try TestBed(brokers: brokers, lanes: Self.lanes)
        writer = try JobWriter(on: bed)
        receiptWatch = try ReceiptWatcher(on: bed)
        for lane in 0..<Self.lanes {
            var all = [JobLines()]
            for phone in stride(from: lane, to: options.phones, by: Self.lanes) {
                if all[all.count - 1].count == Self.jobsPerSheet { all.append(JobLines()) }
                all[all.count - 1].append(TestPhone(number: phone), event: .update)
            }
            sheets.append(all.filter { $0.count > 0 })
        }
    }

    func run() async throws -> Freshness {
        let programs = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent().path
        let script =
            #"{ "rules": [ { "delay": { "fixedMilliseconds": \#(options.answerDelayMilliseconds) } } ] }"#
        let apns = try await SimulatedAPNs(
            programs: programs, directory: "\(directory.path)/apns", script: script)
        let sender = try StageProcess(
            .sender, of: CommandLine.arguments[0], on: bed, data: "\(directory.path)/data",
            extraArguments: apns.workerArguments)
        try await openConnections(of: sender)
        let begun = Instant.now()
        for update in 0..<options.seconds {
            while Instant.now().seconds(since: begun) < Double(update) { pollReceipts() }
            write(update: update)
        }
        let last = writtenAt[writtenAt.count - 1]
        let seconds = Double(WallTime.now().milliseconds - writtenAt[0]) / 1000
        let rate = Double(try readPushes(from: apns.recordsPath, until: last).count) / seconds
        let passSeconds = Double(options.phones) / rate
        let limit = Instant.now().advanced(byMilliseconds: Int(passSeconds * 1000))
        while Instant.now() < limit || conflates && finishedJobs < options.seconds * options.phones {
            pollReceipts()
            if Instant.now().seconds(since: limit) > 60 { break }
        }
        var freshness = evaluate(
            try readPushes(from: apns.recordsPath, until: .max), lastWrittenAt: last, passSeconds: passSeconds
        )
        freshness.rate = rate
        freshness.share = rate / Double(options.phones)
        freshness.supersededJobs = supersededJobs
        sender.kill()
        _ = try await sender.process.exitStatus()
        try await apns.process.kill()
        return freshness
    }

    /// Opens the connections before the measurement begins.
    private func openConnections(of sender: StageProcess) async throws {
        var lines = JobLines()
        for phone in 0..<Self.jobsPerSheet {
            lines.append(TestPhone(number: options.phones + phone), event: .update)
        }
        var head = sheetHead(of: 0)
        head.group = "warm"
        writer.write(head, lines: lines, body: body(of: 0), lane: 0)
        let limit = Instant.now().advanced(byMilliseconds: 60_000)
        while finishedJobs < Self.jobsPerSheet {
            guard Instant.now() < limit else { throw BenchmarkFailure(sender.process.errors) }
            pollReceipts()
        }
        finishedJobs = 0
    }

    private func sheetHead(of update: Int) -> SheetHead {
        let now = WallTime.now().milliseconds
        let app = SenderTestApps.apps[0]
        var head = SheetHead(
            topic: app.bundleID + ".push-type.liveactivity", priority: .immediate,
            expiration: now / 1000 + Self.pushLifetimeSeconds, app: app.id, environment: .production,
            send: "s\(update)", group: "match", scope: .group, generation: baseVersion,
            version: baseVersion + Int64(update) + 1, event: .update,
            deadline: now / 1000 + Self.pushLifetimeSeconds,
            acceptedAt: now)
        head.isConflatable = conflates
        return head
    }

    private func body(of update: Int) -> [UInt8] {
        let version = baseVersion + Int64(update) + 1
        return Array(
            #"{"aps":{"timestamp":\#(version),"event":"update","content-state":{"home":\#(update)}}}"#.utf8)
    }

    /// Writes an update as planner and expander do. Each update starts its walk at a different place and goes
    /// round.
    private func write(update: Int) {
        let (head, body) = (sheetHead(of: update), body(of: update))
        writtenAt.append(head.acceptedAt)
        writer.write(
            SupersededVersions(app: head.app, group: "match", updateVersion: head.version, endVersion: 0))
        let fraction = (Double(update) * Self.goldenRatio).truncatingRemainder(dividingBy: 1)
        let sheetCountMax = sheets.map(\.count).max() ?? 0
        for step in 0..<sheetCountMax {
            for (lane, all) in sheets.enumerated() where step < all.count {
                let index = (Int(fraction * Double(all.count)) + step) % all.count
                writer.write(head, lines: all[index], body: body, lane: Int32(lane))
            }
        }
    }

    private func pollReceipts() {
        receiptWatch.poll(waitMilliseconds: 5) { receipt in
            for part in receipt.parts where part.outcome.isFinal {
                finishedJobs += part.lines.count
                if part.outcome == .superseded { supersededJobs += part.lines.count }
            }
        }
    }

    // MARK: Deliveries

    private struct Push {
        let target: Target
        let update: Int
        let at: Int64
    }

    private func readPushes(from path: String, until limit: Int64) throws -> [Push] {
        var found: [Push] = []
        let phones = phones
        try RequestRecordReader(path: path).forEachRecord { record in
            let target = Target(high: record.targetHigh, low: record.targetLow)
            guard record.kind == .push, record.status == 200, record.receivedAt <= limit,
                phones.contains(target)
            else { return }
            found.append(
                Push(target: target, update: Int(record.timestamp - baseVersion) - 1, at: record.receivedAt))
        }
        return found
    }

    private lazy var phones: Set<Target> = Set(
        (0..<options.phones).map { phone in
            unsafe SHA256.digest(of: TestPhone(number: phone).token(for: .update)).withUnsafeBytes { hash in
                unsafe Target(
                    high: UInt64(bigEndian: hash.loadUnaligned(as: UInt64.self)),
                    low: UInt64(bigEndian: hash.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
            }
        })

    private func evaluate(_ pushes: [Push], lastWrittenAt: Int64, passSeconds: Double) -> Freshness {
        var freshness = Freshness()
        freshness.passSeconds = passSeconds
        var deliveries: [Target: (update: Int, at: Int64, atLast: Int)] = [:]
        let first = writtenAt[0]
        var longest: Int64 = 0
        var newestAt: Int64 = 0
        for push in pushes {
            var known = deliveries[push.target] ?? (-1, first, -1)
            if known.at <= lastWrittenAt { longest = max(longest, min(push.at, lastWrittenAt) - known.at) }
            known.update = max(known.update, push.update)
            known.at = push.at
            if push.at <= lastWrittenAt { known.atLast = known.update }
            if push.update == options.seconds - 1 { newestAt = max(newestAt, push.at) }
            deliveries[push.target] = known
        }
        var behind = 0.0
        for target in phones {
            let known = deliveries[target] ?? (-1, first, -1)
            if known.at < lastWrittenAt { longest = max(longest, lastWrittenAt - known.at) }
            if known.update < options.seconds - 1 { freshness.unfinishedPhones += 1 }
            // The time from which the phone's state was no longer the newest.
            let since = known.atLast + 1 < writtenAt.count ? writtenAt[known.atLast + 1] : lastWrittenAt
            let seconds = Double(lastWrittenAt - since) / 1000
            behind += seconds
            freshness.behindSecondsMax = max(freshness.behindSecondsMax, seconds)
        }
        freshness.behindSecondsMean = behind / Double(options.phones)
        freshness.longestGapPasses = Double(longest) / 1000 / passSeconds
        freshness.newestAfterSeconds = Double(newestAt - lastWrittenAt) / 1000
        return freshness
    }
}
