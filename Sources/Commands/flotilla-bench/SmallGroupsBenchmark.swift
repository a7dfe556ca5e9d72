internal import Foundation
internal import IngestTesting
internal import InstallationRecords
internal import JSON
internal import Jobs
internal import Kafka
internal import Lifecycle
internal import Payloads
internal import Sends
internal import Topics

/// The fan-out benchmark with as many groups as phones. Half are private groups of one name, updated for their
/// owners. Half are groups with one member each, which no lane knows in advance.
final class SmallGroupsBenchmark {
    private static let privateGroup = "order"
    /// A rate above every possible one.
    private static let rateMax = 1_000_000
    /// The limit on sends whose job was not seen yet. At the limit, sending waits.
    private static let unseenSendsMax = 50_000
    /// The most updates whose expansions are counted.
    private static let countedUpdatesMax = 1000

    private let testBed: FanOutTestBed
    private let options: FanOutBenchmark.Options
    private let state: RawJSON
    /// The time of the newest send to each group whose job was not seen yet, by number.
    private var sentAt: [Instant?]

    init(testBed: FanOutTestBed, options: FanOutBenchmark.Options) throws {
        self.testBed = testBed
        self.options = options
        state = try FanOutTestBed.state(bodyBytes: 500)
        sentAt = Array(repeating: nil, count: options.smallGroups)
    }

    func run() throws {
        print(
            "fanout: \(grouped(Double(options.smallGroups))) groups of one phone each, half of them private ones of one "
                + "name; \(testBed.bed.layout.lanes) lanes; the disk syncs in "
                + String(format: "%.1f ms", try DiskSync.measureMilliseconds()))
        for number in 0..<options.smallGroups {
            testBed.registerToken(
                of: user(number: number), entry: .update(activity: "a-\(number)"),
                group: group(number: number))
        }
        try testBed.flushRegistry()
        try startFreshProcess()
        let latencies = try measureStream(perSecond: options.rate, count: options.rate * options.seconds)
        print(
            "  \(grouped(Double(options.rate))) updates a second for \(options.seconds) s, until the job is visible: "
                + "\(latencies)")
        print("  private memory of the process: \(testBed.peakPrivateMiB) MiB")
        try measureExpansions()
        try updateEveryGroup()
        print("  private memory of the process then: \(try testBed.stop()) MiB")
        print("  its state: \(try describeRestoredRecords())")
        try startFreshProcess()
        let latenciesAfterRestore = try measureStream(
            perSecond: options.rate, count: options.rate * min(options.seconds, 20))
        print("  the same rate then, until the job is visible: \(latenciesAfterRestore)")
        print("  private memory of the process: \(try testBed.stop()) MiB")
    }

    private func isPrivate(number: Int) -> Bool { number % 2 == 0 }
    private func user(number: Int) -> String { "user-\(number)" }
    private func group(number: Int) -> String {
        isPrivate(number: number) ? Self.privateGroup : "match-\(number)"
    }

    /// Starts a process without state files.
    private func startFreshProcess() throws {
        let urgent = try testBed.watch([.jobsUrgent])
        let start = Instant.now()
        try testBed.start(jobsPerSheet: options.jobsPerSheet)
        var lanes = Set<Int32>()
        // The private groups with the highest numbers are used, because the stream has not reached them yet.
        for number in stride(from: options.smallGroups - 2 + options.smallGroups % 2, to: 0, by: -2)
        where lanes.count < testBed.bed.layout.lanes {
            guard lanes.insert(testBed.lane(of: user(number: number))).inserted else { continue }
            _ = try testBed.measureSingleSend(
                to: user(number: number), group: Self.privateGroup, state: state, visibleIn: urgent)
        }
        print(
            String(
                format: "  a process without state files: the first jobs of all lanes after %.1f s",
                Instant.now().seconds(since: start)))
    }

    private func sendUpdate(number: Int) {
        sentAt[number] = .now()
        testBed.send(
            .update, to: group(number: number), state: state,
            owner: isPrivate(number: number) ? user(number: number) : nil,
            id: "g-\(number)-\(number)")
    }

    /// Updates each group once at full speed, so that each has the state that a day would leave.
    private func updateEveryGroup() throws {
        let start = Instant.now()
        _ = try measureStream(perSecond: Self.rateMax, count: options.smallGroups)
        let seconds = Instant.now().seconds(since: start)
        print(
            "  all groups, as fast as it goes: \(grouped(Double(options.smallGroups) / seconds)) updates a second"
        )
    }

    /// Counts the expansions of updates to groups that are not private. Each of these groups has one phone.
    private func measureExpansions() throws {
        _ = try testBed.waitUntilIdle()
        let expansions = try testBed.watch([.expansions, .expansionsUrgent])
        let updates = Set(
            (0..<min(Self.countedUpdatesMax, options.smallGroups / 2)).map { number in
                testBed.send(
                    .update, to: group(number: 2 * number + 1), state: state, id: "counted-\(number)")
            })
        try testBed.flushSends()
        _ = try testBed.waitUntilIdle()
        let reader = JSONReader(limits: Expansion.limits)
        var count = 0
        while expansions.poll(
            waitMilliseconds: 1000,
            forEach: { record in
                guard let value = [UInt8](copying: record.value),
                    case .expansion(let expansion)? = try? ExpansionRequest.decode(value, with: reader),
                    updates.contains(expansion.send)
                else { return }
                count += 1
            }) > 0
        {}
        let mean = String(format: "%.2f", Double(count) / Double(max(1, updates.count)))
        print("  an update of a group of one phone: \(mean) expansions, with \(options.lanes) lanes")
    }

    /// Returns the numbers of records from which a new process restores its views, as text.
    private func describeRestoredRecords() throws -> String {
        let counts = try [TopicName.registry, .groups, .starts].map { topic in
            "\(grouped(Double(try testBed.recordCount(of: topic)))) of \(topic.rawValue)"
        }
        return counts.joined(separator: ", ")
    }

    /// Sends at a steady rate, each time to another group.
    private func measureStream(perSecond rate: Int, count: Int) throws -> Latencies {
        let jobs = try testBed.watch([.jobs, .jobsUrgent])
        var latencies = Latencies()
        let processorSecondsBefore = testBed.processorSeconds
        let start = Instant.now()
        var sentCount = 0
        while latencies.seconds.count < count {
            let dueCount = min(count, Int(Instant.now().seconds(since: start) * Double(rate)))
            while sentCount < dueCount, sentCount - latencies.seconds.count < Self.unseenSendsMax {
                sendUpdate(number: sentCount % options.smallGroups)
                sentCount += 1
            }
            jobs.poll(waitMilliseconds: 1) { record in
                guard let number = Self.groupNumber(of: record), number < options.smallGroups,
                    let sendTime = sentAt[number]
                else { return }
                sentAt[number] = nil
                latencies.append(Instant.now().seconds(since: sendTime))
            }
            try testBed.checkStageIsRunning()
            guard Instant.now().seconds(since: start) < Double(count / rate + 600) else {
                throw BenchmarkFailure("\(count - latencies.seconds.count) of \(count) jobs were not seen")
            }
        }
        let seconds = Instant.now().seconds(since: start)
        let processorSeconds = testBed.processorSeconds - processorSecondsBefore
        print(String(format: "  %.2f cores of the stage", processorSeconds / seconds))
        return latencies
    }

    /// Returns the number of the group of a sheet, from the id of its send.
    private static func groupNumber(of record: borrowing Kafka.Record) -> Int? {
        let headers = ReadRecord(record).headers
        guard let apns = headers["apns"], let flotilla = headers["flotilla"],
            let head = try? SheetHead(apns: Array(apns.utf8).span, flotilla: Array(flotilla.utf8).span)
        else { return nil }
        return head.send.split(separator: "-").dropFirst().first.flatMap { Int($0) }
    }
}
