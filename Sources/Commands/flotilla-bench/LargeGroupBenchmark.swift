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

/// The fan-out benchmark with one group of all phones: updates, starts, and sends to one user beside them.
final class LargeGroupBenchmark {
    /// The number of users with a private group. They get the sends to one user.
    private static let users = 500
    private static let groupOfAll = "match"
    private static let reportsPerBatch = 2000

    private let testBed: FanOutTestBed
    private let options: FanOutBenchmark.Options
    private let progress: TopicWatch
    private let urgent: TopicWatch
    private let reader = JSONReader()
    private let smallState: RawJSON
    /// The number of starts so far. Each start has a new group.
    private var startNumber = 0
    /// The send to all that is in progress: its id, the number of lanes that have expanded it, and their jobs.
    private var openSend: (id: String, lanes: Int, jobs: Int)?

    init(testBed: FanOutTestBed, options: FanOutBenchmark.Options) throws {
        self.testBed = testBed
        self.options = options
        smallState = try FanOutTestBed.state(bodyBytes: 600)
        for number in 0..<options.tokens {
            testBed.registerToken(of: "fan-\(number)", entry: .start(type: "Match"))
            testBed.registerToken(
                of: "fan-\(number)", entry: .update(activity: "a-\(number)"), group: Self.groupOfAll)
        }
        for number in 0..<Self.users {
            testBed.registerToken(
                of: "user-\(number)", entry: .update(activity: "own-\(number)"), group: "order")
        }
        try testBed.flushRegistry()
        progress = try testBed.watch([.progress])
        urgent = try testBed.watch([.jobsUrgent])
    }

    func run() throws {
        try startStage(jobsPerSheet: options.jobsPerSheet)
        for bytes in options.bodySizes {
            for event in [PushEvent.update, .start] { try measureRounds(of: event, bodyBytes: bytes) }
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
        try testBed.waitForLanes(group: "order", users: Self.users, visibleIn: urgent, state: smallState)
        print(
            String(
                format: "  without state files, the first jobs of all lanes after %.1f s",
                Instant.now().seconds(since: start)))
    }

    private func measureRounds(of event: PushEvent, bodyBytes: Int) throws {
        var rates: [Double] = []
        var name = "\(event.rawValue)s of \(bodyBytes) bytes"
        if event == .start { name += " with their ledger" }
        for round in 1...options.rounds {
            let processorSecondsBefore = testBed.processorSeconds
            let (seconds, firstJobSeconds) = try measureExpansion(of: event, bodyBytes: bodyBytes)
            rates.append(Double(options.tokens) / seconds)
            let processorSeconds = testBed.processorSeconds - processorSecondsBefore
            print(
                "  \(name), round \(round): \(grouped(rates[round - 1])) jobs a second, "
                    + "\(grouped(Double(options.tokens) / processorSeconds)) a core-second of the stage, "
                    + String(format: "the first visible after %.0f ms", firstJobSeconds * 1000))
        }
        print("  \(name), median: \(grouped(rates.median)) jobs a second")
    }

    /// Measures starts while each started phone reports the token of its activity, so that the registry has
    /// as many changes as there are starts.
    private func measureStartsWithReports() throws {
        var reported = 0
        let seconds = try measureExpansion(of: .start, bodyBytes: options.bodySizes[0]) {
            let phones = reported..<min(reported + Self.reportsPerBatch, self.options.tokens)
            for number in phones {
                self.testBed.registerToken(
                    of: "fan-\(number)", entry: .update(activity: "s-\(number)"),
                    group: "start-\(self.startNumber)")
            }
            reported = phones.upperBound
            try self.testBed.flushRegistry()
        }.all
        print(
            "  the same while \(grouped(Double(reported))) phones report their started activities:  "
                + "\(grouped(Double(options.tokens) / seconds)) jobs a second")
    }

    /// Sends to all and waits until all lanes have closed the send.
    ///
    /// - Returns: seconds from the send to its last closing record, and to its first job.
    private func measureExpansion(
        of event: PushEvent, bodyBytes: Int, meanwhile: () throws -> Void = {}
    ) throws -> (all: Double, first: Double) {
        let jobs = try testBed.watch([.jobs])
        let start = Instant.now()
        try sendToAll(event: event, bodyBytes: bodyBytes)
        var firstJobSeconds: Double?
        while openSend != nil {
            if firstJobSeconds == nil, jobs.poll(waitMilliseconds: 1, forEach: { _ in }) > 0 {
                firstJobSeconds = Instant.now().seconds(since: start)
            }
            try pollProgress(waitMilliseconds: firstJobSeconds == nil ? 0 : 2)
            try meanwhile()
            try testBed.checkStageIsRunning()
            guard Instant.now().seconds(since: start) < 300 else {
                throw BenchmarkFailure("lanes did not close a send")
            }
        }
        let allSeconds = Instant.now().seconds(since: start)
        return (allSeconds, firstJobSeconds ?? allSeconds)
    }

    /// Writes an update to the group of all phones, or a start of a new group for everyone.
    private func sendToAll(event: PushEvent, bodyBytes: Int) throws {
        startNumber += 1
        let group = event == .start ? "start-\(startNumber)" : Self.groupOfAll
        let id = testBed.send(event, to: group, state: try FanOutTestBed.state(bodyBytes: bodyBytes))
        openSend = (id: id, lanes: 0, jobs: 0)
        try testBed.flushSends()
    }

    /// Reads progress records of the open send. Closes it when all lanes have expanded it.
    private func pollProgress(waitMilliseconds: Int32) throws {
        progress.poll(waitMilliseconds: waitMilliseconds) { record in
            guard let value = record.value,
                let decoded = try? unsafe value.withUnsafeBytes({ bytes throws(RecordDecodingError) in
                    try unsafe ProgressRecord.decode(bytes, with: reader)
                }),
                decoded.send == openSend?.id, case .lanes(let lanes, let tally) = decoded.part
            else { return }
            openSend?.lanes += lanes.count
            openSend?.jobs += lanes.count * tally.expanded
        }
        guard let openSend, openSend.lanes == testBed.bed.layout.lanes else { return }
        self.openSend = nil
        if openSend.jobs != options.tokens {
            throw BenchmarkFailure("\(openSend.jobs) jobs for \(options.tokens) tokens")
        }
    }

    /// Measures sends to one user, one after the other. With an event, only those count that ended while a
    /// send to all was in progress.
    private func measureSingleSends(during event: PushEvent?) throws -> Latencies {
        var latencies = Latencies()
        var number = 0
        let start = Instant.now()
        while latencies.seconds.count < options.singleSends {
            if let event {
                try pollProgress(waitMilliseconds: 0)
                if openSend == nil {
                    try sendToAll(event: event, bodyBytes: options.bodySizes[0])
                    usleep(20_000)
                }
            }
            let user = "user-\(number % Self.users)"
            number += 1
            let seconds = try testBed.measureSingleSend(
                to: user, group: "order", state: smallState, visibleIn: urgent)
            try pollProgress(waitMilliseconds: 0)
            if event == nil || openSend != nil { latencies.append(seconds) }
            guard Instant.now().seconds(since: start) < 300 else {
                throw BenchmarkFailure("too few of one user's sends overlapped with a send to all")
            }
            usleep(5000)
        }
        while openSend != nil { try pollProgress(waitMilliseconds: 10) }
        return latencies
    }
}
