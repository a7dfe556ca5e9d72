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

/// A measurement of sends from Kafka to jobs in Kafka, through planner and expander as they run in
/// production. The load is one group of all phones, with sends to one user at the same time. With `--small`
/// there are as many groups as phones.
enum FanOutBenchmark {
    struct Options {
        var tokens = 1_000_000
        var rounds = 3
        var bodySizes = [600, 4000]
        var jobsPerSheet = 256
        var singleSends = 200
        /// With `--small`, the number of groups of one phone each. 0 means one big group.
        var smallGroups = 0
        var rate = 5000
        var seconds = 60
        /// A running cluster to use. Without it the benchmark starts a broker.
        var brokers: [String]?

        init(parsing arguments: [String]) throws {
            var arguments = arguments
            brokers = try BootstrapOption.removeBrokers(from: &arguments)
            var rest = arguments[...]
            while let name = rest.popFirst() {
                guard let value = rest.popFirst(), let number = Int(value), number > 0 else {
                    throw BenchmarkFailure("\(name) needs a number above 0")
                }
                switch name {
                case "--tokens": tokens = number
                case "--rounds": rounds = number
                case "--body": bodySizes = [number]
                case "--per-sheet": jobsPerSheet = number
                case "--singles": singleSends = number
                case "--small": smallGroups = number
                case "--rate": rate = number
                case "--seconds": seconds = number
                default:
                    throw BenchmarkFailure(
                        "\(name) is not known; use --tokens, --rounds, --body, --per-sheet, --singles, or "
                            + "--small, --rate, --seconds; --bootstrap"
                    )
                }
            }
        }
    }

    static func run(arguments: [String]) throws {
        let options = try Options(parsing: arguments)
        let stand = try FanOutTestBed(brokers: options.brokers)
        defer { try? stand.tearDown() }
        if options.smallGroups > 0 { return try SmallGroupsBenchmark(testBed: stand, options: options).run() }
        print(
            "fanout: \(grouped(Double(options.tokens))) tokens, \(stand.bed.layout.lanes) lanes, sheets of "
                + "\(options.jobsPerSheet); the disk syncs in "
                + String(format: "%.1f ms", try DiskSync.measureMilliseconds()))
        let benchmark = try LargeGroupBenchmark(testBed: stand, options: options)
        try benchmark.run()
    }
}

/// The case with one group of all phones.
private final class LargeGroupBenchmark {
    private static let users = 500
    private static let groupOfAll = "match"
    private static let reportsPerBatch = 2000

    private let testBed: FanOutTestBed
    private let options: FanOutBenchmark.Options
    private let progress: TopicWatch
    private let urgent: TopicWatch
    private let reader = JSONReader()
    private let smallState: RawJSON
    private var startNumber = 0
    /// The send to all that is in progress, with the numbers of lanes that have closed it and of its jobs.
    private var open: (send: String, lanes: Int, jobs: Int)?

    init(testBed stand: FanOutTestBed, options: FanOutBenchmark.Options) throws {
        self.testBed = stand
        self.options = options
        smallState = try FanOutTestBed.state(bodyBytes: 600)
        for number in 0..<options.tokens {
            stand.registerToken(of: "fan-\(number)", entry: .start(type: "Match"))
            stand.registerToken(
                of: "fan-\(number)", entry: .update(activity: "a-\(number)"), group: Self.groupOfAll)
        }
        for number in 0..<Self.users {
            stand.registerToken(
                of: "user-\(number)", entry: .update(activity: "own-\(number)"), group: "order")
        }
        try stand.flushRegistry()
        progress = try stand.watch([.progress])
        urgent = try stand.watch([.jobsUrgent])
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

    private func startStage(jobsPerSheet: Int) throws {
        let begun = Instant.now()
        try testBed.start(jobsPerSheet: jobsPerSheet)
        try testBed.waitForLanes(group: "order", users: Self.users, visibleIn: urgent, state: smallState)
        print(
            String(
                format: "  without state files, the first jobs of all lanes after %.1f s",
                Instant.now().seconds(since: begun)))
    }

    private func measureRounds(of event: PushEvent, bodyBytes: Int) throws {
        var rates: [Double] = []
        var name = "\(event.rawValue)s of \(bodyBytes) bytes"
        if event == .start { name += " with their ledger" }
        for round in 1...options.rounds {
            let before = testBed.processorSeconds
            let (seconds, first) = try measureExpansion(of: event, bodyBytes: bodyBytes)
            rates.append(Double(options.tokens) / seconds)
            let used = testBed.processorSeconds - before
            print(
                "  \(name), round \(round): \(grouped(rates[round - 1])) jobs a second, "
                    + "\(grouped(Double(options.tokens) / used)) a core-second of the stage, "
                    + String(format: "the first visible after %.0f ms", first * 1000))
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
        let begun = Instant.now()
        try sendToAll(event: event, bodyBytes: bodyBytes)
        var first: Double?
        while open != nil {
            if first == nil, jobs.poll(waitMilliseconds: 1, forEach: { _ in }) > 0 {
                first = Instant.now().seconds(since: begun)
            }
            try pollProgress(waitMilliseconds: first == nil ? 0 : 2)
            try meanwhile()
            try testBed.checkStageIsRunning()
            guard Instant.now().seconds(since: begun) < 300 else {
                throw BenchmarkFailure("lanes did not close a send")
            }
        }
        let all = Instant.now().seconds(since: begun)
        return (all, first ?? all)
    }

    private func sendToAll(event: PushEvent, bodyBytes: Int) throws {
        startNumber += 1
        let group = event == .start ? "start-\(startNumber)" : Self.groupOfAll
        let id = testBed.send(event, to: group, state: try FanOutTestBed.state(bodyBytes: bodyBytes))
        open = (id, 0, 0)
        try testBed.flushSends()
    }

    private func pollProgress(waitMilliseconds: Int32) throws {
        progress.poll(waitMilliseconds: waitMilliseconds) { record in
            guard let value = record.value,
                let decoded = try? unsafe value.withUnsafeBytes({ bytes throws(RecordDecodingError) in
                    try unsafe ProgressRecord.decode(bytes, with: reader)
                }),
                decoded.send == open?.send, case .lanes(let lanes, let tally) = decoded.part
            else { return }
            open?.lanes += lanes.count
            open?.jobs += lanes.count * tally.expanded
        }
        guard let open, open.lanes == testBed.bed.layout.lanes else { return }
        self.open = nil
        if open.jobs != options.tokens {
            throw BenchmarkFailure("\(open.jobs) jobs for \(options.tokens) tokens")
        }
    }

    /// Measures sends to one user, one after the other. With an event, only those count that ended while a
    /// send to all was in progress.
    private func measureSingleSends(during event: PushEvent?) throws -> Latencies {
        var latencies = Latencies()
        var number = 0
        let begun = Instant.now()
        while latencies.seconds.count < options.singleSends {
            if let event {
                try pollProgress(waitMilliseconds: 0)
                if open == nil {
                    try sendToAll(event: event, bodyBytes: options.bodySizes[0])
                    usleep(20_000)
                }
            }
            let user = "user-\(number % Self.users)"
            number += 1
            let seconds = try testBed.measureSingleSend(
                to: user, group: "order", state: smallState, visibleIn: urgent)
            try pollProgress(waitMilliseconds: 0)
            if event == nil || open != nil { latencies.append(seconds) }
            guard Instant.now().seconds(since: begun) < 300 else {
                throw BenchmarkFailure("too few of one user's sends overlapped with a send to all")
            }
            usleep(5000)
        }
        while open != nil { try pollProgress(waitMilliseconds: 10) }
        return latencies
    }
}

extension FanOutTestBed {
    /// - Returns: seconds until the job of a send to the owner of a private group was visible.
    func measureSingleSend(to user: String, group: String, state: RawJSON, visibleIn urgent: TopicWatch)
        throws -> Double
    {
        let begun = Instant.now()
        send(.update, to: group, state: state, owner: user)
        try flushSends()
        while urgent.poll(waitMilliseconds: 100, forEach: { _ in }) == 0 {
            try checkStageIsRunning()
            if Instant.now().seconds(since: begun) > 300 { throw BenchmarkFailure("a job was lost") }
        }
        return Instant.now().seconds(since: begun)
    }

    /// Waits until each lane has made a job, for the users `user-0`, `user-1` … who have an activity in a
    /// private group.
    func waitForLanes(group: String, users: Int, visibleIn urgent: TopicWatch, state: RawJSON) throws {
        var lanes = Set<Int32>()
        for user in (0..<users).map({ "user-\($0)" }) where lanes.insert(lane(of: user)).inserted {
            _ = try measureSingleSend(to: user, group: group, state: state, visibleIn: urgent)
        }
    }
}
