internal import Foundation
internal import IngestTesting
internal import InstallationRecords
internal import JSON
internal import Jobs
internal import Kafka
internal import Lifecycle
internal import Payloads
internal import RecordFormat
internal import Sends
internal import Topics

/// The fan-out benchmark with as many groups as phones. Half are private groups of one name, updated for their
/// owners. Half are groups with one member each, which no lane knows in advance. It measures updates at a steady rate,
/// all groups at full speed, and the restore of a new process after that.
final class SmallGroupsBenchmark {
    private static let privateGroup = "order"
    private static let bodyBytes = 500
    /// A rate above every possible one.
    private static let rateMax = 1_000_000
    /// The limit on sends whose job was not seen yet. At the limit, sending waits.
    private static let unseenSendsMax = 50_000
    /// The longest duration of the stream after a restore.
    private static let restoredStreamSecondsMax = 20
    /// The time by which a stream may exceed its duration.
    private static let excessSecondsMax = 600
    /// The most updates whose expansions are counted.
    private static let countedUpdatesMax = 1000

    private let testBed: FanOutTestBed
    private let options: FanOutBenchmark.Options
    private let state: RawJSON
    /// The time of the newest send to each group whose job was not seen yet, by the group's number.
    private var sentAt: [Instant?]

    init(testBed: FanOutTestBed, options: FanOutBenchmark.Options) throws {
        self.testBed = testBed
        self.options = options
        state = try FanOutTestBed.state(bodyBytes: Self.bodyBytes)
        sentAt = Array(repeating: nil, count: options.smallGroups)
    }

    func run() throws {
        print(
            "fanout: \(grouped(Double(options.smallGroups))) groups of one phone each, half of them private ones of one "
                + "name; \(testBed.bed.layout.lanes) lanes; the disk syncs in "
                + String(format: "%.1f ms", try DiskSync.measureMilliseconds()))
        try writeRegistry()
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
            perSecond: options.rate,
            count: options.rate * min(options.seconds, Self.restoredStreamSecondsMax))
        print("  the same rate then, until the job is visible: \(latenciesAfterRestore)")
        print("  private memory of the process: \(try testBed.stop()) MiB")
    }

    // MARK: Groups

    /// Even numbers are private groups.
    private func isPrivate(number: Int) -> Bool { number % 2 == 0 }

    /// Returns the only member of a group.
    private func user(number: Int) -> String { "user-\(number)" }

    private func group(number: Int) -> String {
        isPrivate(number: number) ? Self.privateGroup : "match-\(number)"
    }

    private func writeRegistry() throws {
        for number in 0..<options.smallGroups {
            testBed.registerToken(
                of: user(number: number), entry: .update(activity: "a-\(number)"),
                group: group(number: number))
        }
        try testBed.flushRegistry()
    }

    // MARK: The process

    /// Starts a process without state files, and waits until each lane has made a job.
    private func startFreshProcess() throws {
        let urgentJobs = try testBed.watch([.jobsUrgent])
        let start = Instant.now()
        try testBed.start(jobsPerSheet: options.jobsPerSheet)
        var lanes = Set<Int32>()
        // The private groups with the highest numbers are used, because the stream has not reached them yet.
        let highestPrivateNumber = options.smallGroups - 2 + options.smallGroups % 2
        for number in stride(from: highestPrivateNumber, to: 0, by: -2)
        where lanes.count < testBed.bed.layout.lanes {
            let isNewLane = lanes.insert(testBed.lane(of: user(number: number))).inserted
            guard isNewLane else { continue }
            _ = try testBed.measureSingleSend(
                to: user(number: number), group: Self.privateGroup, state: state, visibleIn: urgentJobs)
        }
        print(
            String(
                format: "  a process without state files: the first jobs of all lanes after %.1f s",
                Instant.now().seconds(since: start)))
    }

    /// Returns the numbers of records from which a new process restores its views, as text.
    private func describeRestoredRecords() throws -> String {
        let counts = try [TopicName.registry, .groups, .starts].map { topic in
            "\(grouped(Double(try testBed.recordCount(of: topic)))) of \(topic.rawValue)"
        }
        return counts.joined(separator: ", ")
    }

    // MARK: Updates

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
        let expansions = try testBed.watch([.expansionsUrgent])
        let updates = Set(
            (0..<min(Self.countedUpdatesMax, options.smallGroups / 2)).map { number in
                testBed.send(
                    .update, to: group(number: 2 * number + 1), state: state, id: "counted-\(number)")
            })
        try testBed.flushSends()
        _ = try testBed.waitUntilIdle()
        let reader = JSONReader(limits: Expansion.limits)
        var count = 0
        var readCount = 0
        repeat {
            readCount = expansions.poll(waitMilliseconds: 1000) { record in
                guard let value = [UInt8](copying: record.value),
                    case .expansion(let expansion)? = try? ExpansionRequest.decode(value, with: reader),
                    updates.contains(expansion.send)
                else { return }
                count += 1
            }
        } while readCount > 0
        let mean = String(format: "%.2f", Double(count) / Double(max(1, updates.count)))
        print("  an update of a group of one phone: \(mean) expansions, with \(options.lanes) lanes")
    }

    /// Sends at a steady rate, each time to another group. Prints the processor time of the stage.
    ///
    /// - Returns: the time from each send to its visible job.
    private func measureStream(perSecond rate: Int, count: Int) throws -> Latencies {
        let jobs = try testBed.watch([.jobs, .jobsUrgent])
        var latencies = Latencies()
        let processorSecondsBefore = testBed.processorSeconds
        let start = Instant.now()
        let secondsMax = Double(count / rate + Self.excessSecondsMax)
        var sentCount = 0
        while latencies.seconds.count < count {
            // The sends that the rate demands by now are written in one go.
            let demandedCount = min(count, Int(Instant.now().seconds(since: start) * Double(rate)))
            while sentCount < demandedCount, sentCount - latencies.seconds.count < Self.unseenSendsMax {
                sendUpdate(number: sentCount % options.smallGroups)
                sentCount += 1
            }
            jobs.poll(waitMilliseconds: 1) { record in
                if let seconds = secondsFromSend(toJobsIn: record) { latencies.append(seconds) }
            }
            try testBed.checkStageIsRunning()
            guard Instant.now().seconds(since: start) < secondsMax else {
                throw BenchmarkFailure("\(count - latencies.seconds.count) of \(count) jobs were not seen")
            }
        }
        let seconds = Instant.now().seconds(since: start)
        let processorSeconds = testBed.processorSeconds - processorSecondsBefore
        print(String(format: "  %.2f cores of the stage", processorSeconds / seconds))
        return latencies
    }

    private func sendUpdate(number: Int) {
        sentAt[number] = .now()
        testBed.send(
            .update, to: group(number: number), state: state,
            owner: isPrivate(number: number) ? user(number: number) : nil,
            id: "g-\(number)")
    }

    /// Returns the time since the send of a visible sheet, or nil if a job of this send was seen before.
    private func secondsFromSend(toJobsIn record: borrowing Kafka.Record) -> Double? {
        guard let number = Self.groupNumber(of: record), number < options.smallGroups,
            let sendTime = sentAt[number]
        else { return nil }
        sentAt[number] = nil
        return Instant.now().seconds(since: sendTime)
    }

    /// Returns the number of the group of a sheet, from the id of its send: `g-7` gives 7.
    private static func groupNumber(of record: borrowing Kafka.Record) -> Int? {
        let headers = ReadRecord(record).headers
        guard let apns = headers["apns"], let flotilla = headers["flotilla"],
            let head = try? SheetHead(apns: Array(apns.utf8).span, flotilla: Array(flotilla.utf8).span)
        else { return nil }
        return head.send.split(separator: "-").dropFirst().first.flatMap { Int($0) }
    }
}
