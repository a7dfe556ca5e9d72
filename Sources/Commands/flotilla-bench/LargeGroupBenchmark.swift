internal import Foundation
internal import Glibc
internal import IngestTesting
internal import InstallationRecords
internal import JSON
internal import Kafka
internal import Lifecycle
internal import Payloads
internal import RecordFormat
internal import Sends
internal import Topics

/// The fan-out benchmark with one group of all phones. It measures updates of the group, starts for everyone, and sends
/// to one user alone and beside both.
final class LargeGroupBenchmark {
    private static let groupOfAll = "match"
    /// The number of users with a private group. They get the sends to one user.
    private static let users = 500
    private static let privateGroup = "order"
    /// The body of a send to one user.
    private static let singleSendBodyBytes = 600
    private static let reportsPerBatch = 2000
    /// The limit for one send to all, and for all measured sends to one user.
    private static let measurementSecondsMax = 300.0
    /// The head start of a send to all before a send to one user, so that both overlap.
    private static let headStartMicroseconds: UInt32 = 20_000
    private static let singleSendPauseMicroseconds: UInt32 = 5_000

    /// A send to all that is in progress.
    private struct OpenSend {
        let id: String
        /// The lanes that have expanded it, and their jobs.
        var laneCount = 0
        var jobCount = 0
    }

    /// The seconds from a send to all to the last progress record of a lane, and to the first job.
    private struct ExpansionTimes {
        let seconds: Double
        let firstJobSeconds: Double
    }

    private let testBed: FanOutTestBed
    private let options: FanOutBenchmark.Options
    private let progress: TopicWatch
    private let urgentJobs: TopicWatch
    private let reader = JSONReader()
    private let singleSendState: RawJSON
    /// The number of sends to all so far. Each start has a new group, with this number.
    private var sendNumber = 0
    /// Nil if no send to all is in progress.
    private var openSend: OpenSend?

    init(testBed: FanOutTestBed, options: FanOutBenchmark.Options) throws {
        self.testBed = testBed
        self.options = options
        singleSendState = try FanOutTestBed.state(bodyBytes: Self.singleSendBodyBytes)
        try Self.writeRegistry(phoneCount: options.tokens, in: testBed)
        progress = try testBed.watch([.progress])
        urgentJobs = try testBed.watch([.jobsUrgent])
    }

    /// Registers a start token and an update token of each phone, and an update token of each user.
    private static func writeRegistry(phoneCount: Int, in testBed: FanOutTestBed) throws {
        for number in 0..<phoneCount {
            testBed.registerToken(of: "fan-\(number)", entry: .start(type: "Match"))
            testBed.registerToken(
                of: "fan-\(number)", entry: .update(activity: "a-\(number)"), group: groupOfAll)
        }
        for number in 0..<users {
            testBed.registerToken(
                of: "user-\(number)", entry: .update(activity: "own-\(number)"), group: privateGroup)
        }
        try testBed.flushRegistry()
    }

    func run() throws {
        try startStage(jobsPerSheet: options.jobsPerSheet)
        for bodyBytes in options.bodySizes {
            for event in [PushEvent.update, .start] { try measureRounds(of: event, bodyBytes: bodyBytes) }
        }
        try measureStartsWithReports()
        print(String(format: "  idle again after %.0f s", try testBed.waitUntilIdle()))
        print("  one user's send when idle, until its job is visible: \(try measureSingleSends(during: nil))")
        for event in [PushEvent.update, .start] {
            print("  the same while \(event.rawValue)s expand: \(try measureSingleSends(during: event))")
        }
        print("  private memory of the process: \(try testBed.stop()) MiB")
        if options.jobsPerSheet == 1 { return }
        print("  with one job on a sheet:")
        try startStage(jobsPerSheet: 1)
        try measureRounds(of: .update, bodyBytes: options.bodySizes[0])
        print("  private memory of the process: \(try testBed.stop()) MiB")
    }

    /// Starts fan-out without state files, and waits until each lane has made a job.
    private func startStage(jobsPerSheet: Int) throws {
        let start = Instant.now()
        try testBed.start(jobsPerSheet: jobsPerSheet)
        try testBed.waitForLanes(
            group: Self.privateGroup, users: Self.users, visibleIn: urgentJobs, state: singleSendState)
        print(
            String(
                format: "  without state files, the first jobs of all lanes after %.1f s",
                Instant.now().seconds(since: start)))
    }

    // MARK: Sends to all

    private func measureRounds(of event: PushEvent, bodyBytes: Int) throws {
        var rates: [Double] = []
        var name = "\(event.rawValue)s of \(bodyBytes) bytes"
        if event == .start { name += " with their ledger" }
        for round in 1...options.rounds {
            let processorSecondsBefore = testBed.processorSeconds
            let expansion = try measureExpansion(of: event, bodyBytes: bodyBytes)
            let rate = Double(options.tokens) / expansion.seconds
            rates.append(rate)
            let processorSeconds = testBed.processorSeconds - processorSecondsBefore
            print(
                "  \(name), round \(round): \(grouped(rate)) jobs a second, "
                    + "\(grouped(Double(options.tokens) / processorSeconds)) a core-second of the stage, "
                    + String(format: "the first visible after %.0f ms", expansion.firstJobSeconds * 1000))
        }
        print("  \(name), median: \(grouped(rates.median)) jobs a second")
    }

    /// Measures starts while each started phone reports the token of its activity, so that the registry has
    /// as many changes as there are starts.
    private func measureStartsWithReports() throws {
        var reportCount = 0
        let expansion = try measureExpansion(of: .start, bodyBytes: options.bodySizes[0]) {
            let phones = reportCount..<min(reportCount + Self.reportsPerBatch, self.options.tokens)
            for number in phones {
                self.testBed.registerToken(
                    of: "fan-\(number)", entry: .update(activity: "s-\(number)"),
                    group: self.startedGroup)
            }
            reportCount = phones.upperBound
            try self.testBed.flushRegistry()
        }
        print(
            "  the same while \(grouped(Double(reportCount))) phones report their started activities:  "
                + "\(grouped(Double(options.tokens) / expansion.seconds)) jobs a second")
    }

    /// Sends to all and waits until all lanes have expanded the send.
    ///
    /// - Parameter meanwhile: other work, which is done again and again while the send is in progress.
    private func measureExpansion(
        of event: PushEvent, bodyBytes: Int, meanwhile: () throws -> Void = {}
    ) throws -> ExpansionTimes {
        let jobs = try testBed.watch([.jobs])
        let start = Instant.now()
        try sendToAll(event: event, bodyBytes: bodyBytes)
        var firstJobSeconds: Double?
        while openSend != nil {
            if firstJobSeconds == nil {
                let jobCount = jobs.poll(waitMilliseconds: 1) { _ in }
                if jobCount > 0 { firstJobSeconds = Instant.now().seconds(since: start) }
            }
            try pollProgress(waitMilliseconds: firstJobSeconds == nil ? 0 : 2)
            try meanwhile()
            try testBed.checkStageIsRunning()
            guard Instant.now().seconds(since: start) < Self.measurementSecondsMax else {
                throw BenchmarkFailure("lanes did not expand a send")
            }
        }
        let seconds = Instant.now().seconds(since: start)
        return ExpansionTimes(seconds: seconds, firstJobSeconds: firstJobSeconds ?? seconds)
    }

    /// The group of the newest start.
    private var startedGroup: String { "start-\(sendNumber)" }

    /// Writes an update to the group of all phones, or a start of a new group for everyone.
    private func sendToAll(event: PushEvent, bodyBytes: Int) throws {
        sendNumber += 1
        let group = event == .start ? startedGroup : Self.groupOfAll
        let id = testBed.send(event, to: group, state: try FanOutTestBed.state(bodyBytes: bodyBytes))
        openSend = OpenSend(id: id)
        try testBed.flushSends()
    }

    /// Reads progress records of the open send. Closes it when all lanes have expanded it.
    private func pollProgress(waitMilliseconds: Int32) throws {
        progress.poll(waitMilliseconds: waitMilliseconds) { record in
            guard let value = record.value,
                let progressRecord = try? unsafe value.withUnsafeBytes({ bytes throws(RecordDecodingError) in
                    try unsafe ProgressRecord.decode(bytes, with: reader)
                }),
                progressRecord.send == openSend?.id,
                // A record can cover several lanes, each with the same tally.
                case .lanes(let lanes, let tally) = progressRecord.part
            else { return }
            openSend?.laneCount += lanes.count
            openSend?.jobCount += lanes.count * tally.expanded
        }
        guard let openSend, openSend.laneCount == testBed.bed.layout.lanes else { return }
        self.openSend = nil
        if openSend.jobCount != options.tokens {
            throw BenchmarkFailure("\(openSend.jobCount) jobs for \(options.tokens) tokens")
        }
    }

    // MARK: Sends to one user

    /// Measures sends to one user, one after the other. With an event, a send to all is always in progress beside them,
    /// and a send to one user counts only if it ended before the send to all.
    private func measureSingleSends(during event: PushEvent?) throws -> Latencies {
        var latencies = Latencies()
        var number = 0
        let start = Instant.now()
        while latencies.seconds.count < options.singleSends {
            if let event { try keepSendToAllOpen(event: event) }
            let user = "user-\(number % Self.users)"
            number += 1
            let seconds = try testBed.measureSingleSend(
                to: user, group: Self.privateGroup, state: singleSendState, visibleIn: urgentJobs)
            try pollProgress(waitMilliseconds: 0)
            if event == nil || openSend != nil { latencies.append(seconds) }
            guard Instant.now().seconds(since: start) < Self.measurementSecondsMax else {
                throw BenchmarkFailure("too few of one user's sends overlapped with a send to all")
            }
            usleep(Self.singleSendPauseMicroseconds)
        }
        while openSend != nil { try pollProgress(waitMilliseconds: 10) }
        return latencies
    }

    /// Starts a new send to all if the last one has ended.
    private func keepSendToAllOpen(event: PushEvent) throws {
        try pollProgress(waitMilliseconds: 0)
        guard openSend == nil else { return }
        try sendToAll(event: event, bodyBytes: options.bodySizes[0])
        usleep(Self.headStartMicroseconds)
    }
}
