internal import APNsSimulator
internal import CatalogRecords
internal import Cryptography
internal import Foundation
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

/// One run of the freshness benchmark, with or without conflation: the sender and the simulated APNs are separate
/// processes, and this process writes the jobs and reads the receipts.
final class FreshnessRun {
    /// A phone in the simulator's records: the first 16 bytes of the SHA-256 of its device token.
    private struct Target: Hashable {
        let high: UInt64
        let low: UInt64
    }

    private static let lanes = 12
    private static let jobsPerSheet = 256
    /// The step from the start of one walk over a lane's sheets to the start of the next, as a share of the sheets. It
    /// is the golden ratio, whose multiples spread evenly.
    private static let walkStartStep = 0.618_033_988_749_894_9
    private static let pushLifetimeSeconds: Int64 = 3_600
    /// The longest wait for the last receipts after a pass.
    private static let excessSecondsMax = 60.0

    private let options: FreshnessBenchmark.Options
    private let conflates: Bool
    private let bed: TestBed
    private let writer: JobWriter
    private let receiptWatch: ReceiptWatcher
    private let directory: BenchmarkDirectory
    /// The sheets of each lane, in the order of its phones.
    private var sheets: [[JobLines]] = []
    // Jobs with a final receipt, and those of them that a newer update replaced.
    private var finishedJobs = 0
    private var supersededJobs = 0
    /// The time of each update, in milliseconds since 1970.
    private var writtenAt: [Int64] = []
    /// The version before the first update.
    private let baseVersion: Int64 = 1_763_600_000

    init(options: FreshnessBenchmark.Options, brokers: [String], conflates: Bool) throws {
        self.options = options
        self.conflates = conflates
        directory = try BenchmarkDirectory()
        bed = try TestBed(brokers: brokers, lanes: Self.lanes)
        writer = try JobWriter(on: bed)
        receiptWatch = try ReceiptWatcher(on: bed)
        for lane in 0..<Self.lanes {
            var laneSheets = [JobLines()]
            for phone in stride(from: lane, to: options.phones, by: Self.lanes) {
                if laneSheets[laneSheets.count - 1].count == Self.jobsPerSheet {
                    laneSheets.append(JobLines())
                }
                laneSheets[laneSheets.count - 1].append(TestPhone(number: phone), event: .update)
            }
            sheets.append(laneSheets.filter { $0.count > 0 })
        }
    }

    func run() async throws -> Freshness {
        let script =
            #"{ "rules": [ { "delay": { "fixedMilliseconds": \#(options.answerDelayMilliseconds) } } ] }"#
        let apns = try await SimulatedAPNs(
            programs: FleetBenchmark.programsDirectory, directory: "\(directory.path)/apns", script: script)
        let sender = try StageProcess(
            .sender, of: CommandLine.arguments[0], on: bed, data: "\(directory.path)/data",
            extraArguments: apns.workerArguments)
        try await openConnections(of: sender)
        let start = Instant.now()
        for update in 0..<options.seconds {
            while Instant.now().seconds(since: start) < Double(update) { pollReceipts() }
            write(update: update)
        }
        let lastWrittenAt = writtenAt[writtenAt.count - 1]
        let updateSeconds = Double(WallTime.now().milliseconds - writtenAt[0]) / 1000
        let pushesDuringUpdates = try readPushes(from: apns.recordsPath, until: lastWrittenAt)
        let rate = Double(pushesDuringUpdates.count) / updateSeconds
        let passSeconds = Double(options.phones) / rate
        waitForReceipts(passSeconds: passSeconds)
        var freshness = evaluate(
            try readPushes(from: apns.recordsPath, until: .max), lastWrittenAt: lastWrittenAt,
            passSeconds: passSeconds
        )
        freshness.rate = rate
        freshness.share = rate / Double(options.phones)
        freshness.supersededJobs = supersededJobs
        sender.kill()
        _ = try await sender.process.exitStatus()
        try await apns.process.kill()
        return freshness
    }

    /// Polls receipts for one pass. With conflation it continues until all jobs are finished, at most
    /// `excessSecondsMax` longer.
    private func waitForReceipts(passSeconds: Double) {
        let passEnd = Instant.now().advanced(byMilliseconds: Int(passSeconds * 1000))
        let jobCount = options.seconds * options.phones
        while Instant.now() < passEnd { pollReceipts() }
        guard conflates else { return }
        while finishedJobs < jobCount, Instant.now().seconds(since: passEnd) <= Self.excessSecondsMax {
            pollReceipts()
        }
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

    /// Returns the version of an update, which is also its timestamp, in seconds since 1970.
    private func version(of update: Int) -> Int64 { baseVersion + Int64(update) + 1 }

    private func sheetHead(of update: Int) -> SheetHead {
        let now = WallTime.now().milliseconds
        let app = SenderTestApps.apps[0]
        var head = SheetHead(
            topic: app.bundleID + ".push-type.liveactivity", priority: .immediate,
            expiration: now / 1000 + Self.pushLifetimeSeconds, app: app.id, environment: .production,
            send: "s\(update)", group: "match", scope: .group, generation: baseVersion,
            version: version(of: update), event: .update,
            deadline: now / 1000 + Self.pushLifetimeSeconds,
            acceptedAt: now)
        head.isConflatable = conflates
        return head
    }

    private func body(of update: Int) -> [UInt8] {
        Array(
            #"{"aps":{"timestamp":\#(version(of: update)),"event":"update","content-state":{"home":\#(update)}}}"#
                .utf8)
    }

    /// Writes an update as planner and expander do. The walk over the sheets of a lane begins at another sheet
    /// for each update, and wraps around.
    private func write(update: Int) {
        let (head, body) = (sheetHead(of: update), body(of: update))
        writtenAt.append(head.acceptedAt)
        writer.write(
            SupersededVersions(app: head.app, group: "match", updateVersion: head.version, endVersion: 0))
        let fraction = (Double(update) * Self.walkStartStep).truncatingRemainder(dividingBy: 1)
        let sheetCountMax = sheets.map(\.count).max() ?? 0
        for step in 0..<sheetCountMax {
            for (lane, laneSheets) in sheets.enumerated() where step < laneSheets.count {
                let start = Int(fraction * Double(laneSheets.count))
                let index = (start + step) % laneSheets.count
                writer.write(head, lines: laneSheets[index], body: body, lane: Int32(lane))
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

    /// A push that APNs accepted.
    private struct Push {
        let target: Target
        let update: Int
        /// Milliseconds since 1970.
        let receivedAt: Int64
    }

    private func readPushes(from path: String, until limit: Int64) throws -> [Push] {
        var pushes: [Push] = []
        let phones = phones
        try RequestRecordReader(path: path).forEachRecord { record in
            let target = Target(high: record.targetHigh, low: record.targetLow)
            guard record.kind == .push, record.status == 200, record.receivedAt <= limit,
                phones.contains(target)
            else { return }
            pushes.append(
                Push(
                    target: target, update: Int(record.timestamp - baseVersion) - 1,
                    receivedAt: record.receivedAt))
        }
        return pushes
    }

    private lazy var phones: Set<Target> = Set(
        (0..<options.phones).map { phone in
            unsafe SHA256.digest(of: TestPhone(number: phone).token(for: .update)).withUnsafeBytes { hash in
                unsafe Target(
                    high: UInt64(bigEndian: hash.loadUnaligned(as: UInt64.self)),
                    low: UInt64(bigEndian: hash.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
            }
        })

    /// The deliveries to one phone.
    private struct PhoneDeliveries {
        /// The newest update that the phone got, or -1 for none.
        var newestUpdate = -1
        /// The time of the last delivery, or of the first update before a delivery.
        var lastReceivedAt: Int64
        /// The newest update that the phone had when the last update was written, or -1 for none.
        var updateAtLastWrite = -1
        /// The longest time without a delivery, in milliseconds. It counts only until the last update was written.
        var longestGap: Int64 = 0

        init(firstUpdateAt: Int64) { lastReceivedAt = firstUpdateAt }

        mutating func record(_ push: Push, lastWrittenAt: Int64) {
            recordGap(until: min(push.receivedAt, lastWrittenAt))
            newestUpdate = max(newestUpdate, push.update)
            lastReceivedAt = push.receivedAt
            if push.receivedAt <= lastWrittenAt { updateAtLastWrite = newestUpdate }
        }

        /// Notes the time from the last delivery until `end`, which may be before that delivery.
        mutating func recordGap(until end: Int64) { longestGap = max(longestGap, end - lastReceivedAt) }
    }

    /// Calculates how far the phones were behind the updates.
    private func evaluate(_ pushes: [Push], lastWrittenAt: Int64, passSeconds: Double) -> Freshness {
        var freshness = Freshness()
        freshness.passSeconds = passSeconds
        var deliveriesByPhone: [Target: PhoneDeliveries] = [:]
        let noDeliveries = PhoneDeliveries(firstUpdateAt: writtenAt[0])
        let lastUpdate = options.seconds - 1
        var lastUpdateReceivedAt: Int64 = 0
        for push in pushes {
            deliveriesByPhone[push.target, default: noDeliveries].record(push, lastWrittenAt: lastWrittenAt)
            if push.update == lastUpdate { lastUpdateReceivedAt = max(lastUpdateReceivedAt, push.receivedAt) }
        }
        var longestGap: Int64 = 0
        var behindSecondsSum = 0.0
        for target in phones {
            var phone = deliveriesByPhone[target] ?? noDeliveries
            phone.recordGap(until: lastWrittenAt)
            longestGap = max(longestGap, phone.longestGap)
            if phone.newestUpdate < lastUpdate { freshness.unfinishedPhones += 1 }
            let behindSeconds = secondsBehind(update: phone.updateAtLastWrite, at: lastWrittenAt)
            behindSecondsSum += behindSeconds
            freshness.behindSecondsMax = max(freshness.behindSecondsMax, behindSeconds)
        }
        freshness.behindSecondsMean = behindSecondsSum / Double(options.phones)
        freshness.longestGapPasses = Double(longestGap) / 1000 / passSeconds
        freshness.newestAfterSeconds = Double(lastUpdateReceivedAt - lastWrittenAt) / 1000
        return freshness
    }

    /// Returns the seconds since the next update was written, when this one was no longer the newest.
    private func secondsBehind(update: Int, at time: Int64) -> Double {
        let supersededAt = update + 1 < writtenAt.count ? writtenAt[update + 1] : time
        return Double(time - supersededAt) / 1000
    }
}
