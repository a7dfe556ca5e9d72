internal import Foundation
internal import IngestTesting
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Topics

/// The case with as many groups as phones. Half are private groups of one name, updated for their owners.
/// Half are groups with one member each, which no lane knows in advance.
final class ManySmall {
    private static let privateGroup = "order"
    /// A rate above every possible one.
    private static let rateMax = 1_000_000
    /// The limit on sends whose job was not seen yet. At the limit, sending waits.
    private static let unseenMax = 50_000

    private let stand: FanOutStand
    private let options: FanOutBenchmark.Options
    private let state: RawJSON
    /// The time of the newest send to each phone's group.
    private var sentAt: [Instant?]

    init(_ stand: FanOutStand, _ options: FanOutBenchmark.Options) throws {
        self.stand = stand
        self.options = options
        state = try FanOutStand.state(bodyBytes: 500)
        sentAt = Array(repeating: nil, count: options.groups)
    }

    func run() throws {
        print(
            "fanout: \(grouped(Double(options.groups))) groups of one phone each, half of them private ones of one "
                + "name; \(stand.bed.layout.lanes) lanes; the disk syncs in "
                + String(format: "%.1f ms", try DiskSync.milliseconds()))
        for number in 0..<options.groups {
            stand.report(user(number), .update(activity: "a-\(number)"), group: group(number))
        }
        try stand.storeRegistry()
        try fresh()
        let latencies = try stream(options.rate, count: options.rate * options.seconds)
        print(
            "  \(grouped(Double(options.rate))) updates a second for \(options.seconds) s, until the job is visible: "
                + "\(latencies)")
        print("  private memory of the process: \(stand.privateMemory) MiB")
        try everyGroupOnce()
        print("  private memory of the process then: \(try stand.stop()) MiB")
        print("  its state: \(try recordsThatAreState())")
        try fresh()
        let again = try stream(options.rate, count: options.rate * min(options.seconds, 20))
        print("  the same rate then, until the job is visible: \(again)")
        print("  private memory of the process: \(try stand.stop()) MiB")
    }

    private func isPrivate(_ number: Int) -> Bool { number % 2 == 0 }
    private func user(_ number: Int) -> String { "user-\(number)" }
    private func group(_ number: Int) -> String { isPrivate(number) ? Self.privateGroup : "match-\(number)" }

    /// Starts a process without state files.
    private func fresh() throws {
        let urgent = try stand.watch([.jobsUrgent])
        let begun = Instant.now()
        try stand.start(jobsPerSheet: options.jobsPerSheet)
        var lanes = Set<Int32>()
        // The private groups with the highest numbers are used, because the stream has not reached them yet.
        for number in stride(from: options.groups - 2 + options.groups % 2, to: 0, by: -2)
        where lanes.count < stand.bed.layout.lanes {
            guard lanes.insert(stand.lane(of: user(number))).inserted else { continue }
            _ = try stand.single(to: user(number), group: Self.privateGroup, state: state, seenBy: urgent)
        }
        print(
            String(
                format: "  a process without state files: the first jobs of all lanes after %.1f s",
                Instant.now().seconds(since: begun)))
    }

    private func send(_ number: Int) {
        sentAt[number] = .now()
        stand.send(
            .update, of: group(number), state: state, owner: isPrivate(number) ? user(number) : nil,
            id: "g-\(number)-\(number)")
    }

    /// Updates each group once at full speed, so that each has the state that a day would leave.
    private func everyGroupOnce() throws {
        let begun = Instant.now()
        _ = try stream(Self.rateMax, count: options.groups)
        let seconds = Instant.now().seconds(since: begun)
        print(
            "  all groups, as fast as it goes: \(grouped(Double(options.groups) / seconds)) updates a second")
    }

    /// Returns the number of records from which a new process restores its views.
    private func recordsThatAreState() throws -> String {
        let counts = try [TopicName.registry, .groups, .starts].map { topic in
            "\(grouped(Double(try stand.records(of: topic)))) of \(topic.rawValue)"
        }
        return counts.joined(separator: ", ")
    }

    /// Sends at a steady rate, each time to another group.
    private func stream(_ rate: Int, count: Int) throws -> Latencies {
        let jobs = try stand.watch([.jobs, .jobsUrgent])
        var latencies = Latencies()
        let before = stand.processorSeconds
        let begun = Instant.now()
        var sent = 0
        while latencies.seconds.count < count {
            let due = min(count, Int(Instant.now().seconds(since: begun) * Double(rate)))
            while sent < due, sent - latencies.seconds.count < Self.unseenMax {
                send(sent % options.groups)
                sent += 1
            }
            jobs.look(waitMilliseconds: 1) { record in
                guard let number = Self.number(of: record), number < options.groups,
                    let time = sentAt[number]
                else { return }
                sentAt[number] = nil
                latencies.add(Instant.now().seconds(since: time))
            }
            try stand.checkThatItRuns()
            guard Instant.now().seconds(since: begun) < Double(count / rate + 600) else {
                throw BenchmarkFailure("\(count - latencies.seconds.count) of \(count) jobs were not seen")
            }
        }
        let seconds = Instant.now().seconds(since: begun)
        print(String(format: "  %.2f cores of the stage", (stand.processorSeconds - before) / seconds))
        return latencies
    }

    /// Returns the number of the group of a sheet, from the id of its send.
    private static func number(of record: borrowing Kafka.Record) -> Int? {
        let headers = ReadRecord(record).headers
        guard let apns = headers["apns"], let flotilla = headers["flotilla"],
            let head = try? SheetHead(apns: Array(apns.utf8).span, flotilla: Array(flotilla.utf8).span)
        else { return nil }
        return head.send.split(separator: "-").dropFirst().first.flatMap { Int($0) }
    }
}
