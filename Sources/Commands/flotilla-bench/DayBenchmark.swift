internal import Foundation
internal import IngestTesting
internal import InstallationTesting
internal import JSON
internal import Jobs
internal import Kafka
internal import Payloads
internal import RecordFormat
internal import Topics

/// The canonical day. Phones report, and a match is started for everyone, updated each second and ended. All
/// processes are real, from the gateway's 202 to the answer of a simulated APNs.
enum DayBenchmark {
    static func run(arguments: [String]) throws {
        let options = try FleetBenchmark(parsing: arguments, defaultPhones: 200_000)
        let directory = try BenchmarkDirectory()
        print(
            "the canonical day: \(grouped(Double(options.phones))) phones, \(options.updates) updates, one a second;"
                + " one process of each stage")
        let path = directory.path
        try runBlocking { try await runDay(options: options, directory: path) }
    }

    private static func runDay(options: FleetBenchmark, directory: String) async throws {
        let fleet = try await Fleet(
            plan: options.plan, programs: FleetBenchmark.programsDirectory, directory: directory)
        let backend = FleetBackend(fleet: fleet)
        let match = FleetMatch(group: "match", fleet: fleet, backend: backend)
        try await FleetBenchmark.startMatch(match, phones: options.phones, on: fleet)
        let cost = FleetProcessorTime(of: fleet)
        let began = Date()
        var updates: Set<String> = []
        for goals in 1...options.updates {
            let due = began.addingTimeInterval(Double(goals - 1)).timeIntervalSinceNow
            if due > 0 { try await Task.sleep(for: .seconds(due)) }
            updates.insert(try await match.send(match.updateBody(goals: goals), named: "update-\(goals)").id)
        }
        let end = try await match.send(match.endBody(goals: options.updates), named: "end")
        let day = try await waitForEnd(of: match, send: end, on: fleet, options: options)
        FleetBenchmark.printIndented(
            "the updates and the end took \(FleetBenchmark.format(seconds: Date().timeIntervalSince(began))) s: "
                + "\(grouped(Double(day.accepted))) pushes were answered, \(grouped(Double(day.superseded))) jobs were replaced "
                + "by a newer one")
        FleetBenchmark.printIndented(
            "processor seconds: "
                + cost.seconds.map { "\($0.name) \(FleetBenchmark.format(seconds: $0.seconds))" }.joined(
                    separator: ", ")
        )
        print("receipts per second: \(grouped(day.receiptsPerSecond))")
        print(
            "from accepted to the last answer, 99th percentile of \(day.sendCount) sends: "
                + "\(FleetBenchmark.format(seconds: day.percentile(of: nil))) s")
        FleetBenchmark.printIndented(
            "of the updates, which newer ones may replace: \(FleetBenchmark.format(seconds: day.percentile(of: updates))) s; "
                + "of the end, which every phone gets: \(FleetBenchmark.format(seconds: day.percentile(of: [end.id]))) s"
        )
        try await fleet.stop()
    }

    /// Waits until every phone has the end.
    ///
    /// The receipts of a day are millions of lines. Reading them takes a core from the fleet, so they are
    /// read only when nothing is delivered any more.
    private static func waitForEnd(
        of match: FleetMatch, send end: FleetBackend.AcceptedSend, on fleet: Fleet, options: FleetBenchmark
    ) async throws -> DayReceipts {
        let limit = Date(timeIntervalSinceNow: 300)
        let step = StepProgressReporter(name: "end", on: fleet) {
            "\(grouped(Double(try await match.deliveredPushCount()))) pushes were delivered"
        }
        var delivered = try await match.deliveredPushCount()
        while true {
            try await Task.sleep(for: .seconds(2))
            try await step.reportIfDue()
            let deliveredNow = try await match.deliveredPushCount()
            let isIdle = deliveredNow == delivered
            delivered = deliveredNow
            guard isIdle || Date() >= limit else { continue }
            let day = try DayReceipts(from: fleet.bed)
            if day.finishedJobs[end.id, default: 0] >= options.phones { return day }
            guard Date() < limit else {
                throw BenchmarkFailure(
                    "\(day.finishedJobs[end.id] ?? 0) of \(options.phones) phones have the end")
            }
        }
    }
}

/// The outcomes of the updates and of the end, from their receipts.
struct DayReceipts {
    private(set) var accepted = 0
    private(set) var superseded = 0
    /// The number of finished jobs of each send.
    private(set) var finishedJobs: [String: Int] = [:]
    private var firstAcceptedAt = Int64.max
    private var lastWrittenAt = Int64.min
    private var lastAnswers: [String: (accepted: Int64, last: Int64)] = [:]

    init(from bed: TestBed) throws {
        let reader = JSONReader()
        try TopicContent.forEachRecord(of: .receipts, in: bed) { record in
            guard let bytes = [UInt8](copying: record.value) else { return }
            let receipt = try Receipt.decode(bytes, with: reader)
            guard receipt.event != .start else { return }
            for part in receipt.parts where part.outcome.isFinal {
                finishedJobs[receipt.send, default: 0] += part.lines.count
                firstAcceptedAt = min(firstAcceptedAt, receipt.acceptedAt)
                lastWrittenAt = max(lastWrittenAt, receipt.writtenAt)
                guard part.outcome == .accepted else {
                    superseded += part.lines.count
                    continue
                }
                accepted += part.lines.count
                let known = lastAnswers[receipt.send]?.last ?? 0
                lastAnswers[receipt.send] = (receipt.acceptedAt, max(known, receipt.writtenAt))
            }
        }
    }

    /// The number of sends that at least one phone got.
    var sendCount: Int { lastAnswers.count }

    var receiptsPerSecond: Double {
        Double(accepted + superseded) * 1000 / Double(max(1, lastWrittenAt - firstAcceptedAt))
    }

    /// Returns the percentile, in seconds, of the time from a send's acceptance to its last answer. Nil means
    /// all sends.
    func percentile(of sends: Set<String>?) -> Double {
        let selected = lastAnswers.filter { sends?.contains($0.key) ?? true }
        let sorted = selected.values.map { Double($0.last - $0.accepted) / 1000 }.sorted()
        return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * 0.99))]
    }
}
