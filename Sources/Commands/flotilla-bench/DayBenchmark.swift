internal import Foundation
internal import IngestTesting
internal import InstallationTesting
internal import JSON
internal import Kafka
internal import LiveActivity
internal import Topics

/// The canonical day. Phones report, and a match is started for everyone, updated each second and ended. All
/// processes are real, from the gateway's 202 to the answer of a simulated APNs.
enum DayBenchmark {
    static func run(_ arguments: [String]) throws {
        let options = try FleetBenchmark(arguments, phones: 200_000)
        let directory = try BenchmarkDirectory()
        print(
            "the canonical day: \(grouped(Double(options.phones))) phones, \(options.updates) updates, one a second;"
                + " one process of each stage")
        let path = directory.path
        try waiting { try await play(options, directory: path) }
    }

    private static func play(_ options: FleetBenchmark, directory: String) async throws {
        let fleet = try await Fleet(
            options.plan, programs: FleetBenchmark.programs, directory: directory)
        let backend = FleetBackend(fleet)
        let match = FleetMatch("match", of: fleet, by: backend)
        try await FleetBenchmark.begin(match, options.phones, on: fleet)
        let cost = FleetCost(fleet)
        let began = Date()
        var updates: Set<String> = []
        for goals in 1...options.updates {
            let due = began.addingTimeInterval(Double(goals - 1)).timeIntervalSinceNow
            if due > 0 { try await Task.sleep(for: .seconds(due)) }
            updates.insert(try await match.send(match.update(goals), "update-\(goals)").id)
        }
        let end = try await match.send(match.end(options.updates), "end")
        let day = try await finished(match, by: end, on: fleet, options)
        FleetBenchmark.say(
            "the updates and the end took \(FleetBenchmark.text(Date().timeIntervalSince(began))) s: "
                + "\(grouped(Double(day.accepted))) pushes were answered, \(grouped(Double(day.superseded))) jobs were replaced "
                + "by a newer one")
        FleetBenchmark.say(
            "processor seconds: "
                + cost.seconds.map { "\($0.name) \(FleetBenchmark.text($0.seconds))" }.joined(separator: ", ")
        )
        print("receipts per second: \(grouped(day.receiptsPerSecond))")
        print(
            "from accepted to the last answer, 99th percentile of \(day.sends) sends: "
                + "\(FleetBenchmark.text(day.percentile(of: nil))) s")
        FleetBenchmark.say(
            "of the updates, which newer ones may replace: \(FleetBenchmark.text(day.percentile(of: updates))) s; "
                + "of the end, which every phone gets: \(FleetBenchmark.text(day.percentile(of: [end.id]))) s"
        )
        try await fleet.stop()
    }

    /// Waits until every phone has the end.
    ///
    /// The receipts of a day are millions of lines. Reading them takes a core from the fleet, so they are
    /// read only when nothing is delivered any more.
    private static func finished(
        _ match: FleetMatch, by end: FleetBackend.Accepted, on fleet: Fleet, _ options: FleetBenchmark
    ) async throws -> DayReceipts {
        let limit = Date(timeIntervalSinceNow: 300)
        let step = SlowStep("end", on: fleet) {
            "\(grouped(Double(try await match.delivered()))) pushes were delivered"
        }
        var delivered = try await match.delivered()
        while true {
            try await Task.sleep(for: .seconds(2))
            try await step.look()
            let now = try await match.delivered()
            let isStill = now == delivered
            delivered = now
            guard isStill || Date() >= limit else { continue }
            let day = try DayReceipts(fleet.bed)
            if day.done[end.id, default: 0] >= options.phones { return day }
            guard Date() < limit else {
                throw BenchmarkFailure("\(day.done[end.id] ?? 0) of \(options.phones) phones have the end")
            }
        }
    }
}

/// The outcomes of the updates and of the end, from their receipts.
struct DayReceipts {
    private(set) var accepted = 0
    private(set) var superseded = 0
    /// The number of finished jobs of each send.
    private(set) var done: [String: Int] = [:]
    private var first = Int64.max
    private var last = Int64.min
    private var lastAnswers: [String: (accepted: Int64, last: Int64)] = [:]

    init(_ bed: IngestBed) throws {
        let reader = JSONReader()
        try TopicContent.each(of: .receipts, bed) { record in
            guard let bytes = [UInt8](copying: record.value) else { return }
            let receipt = try Receipt.decode(bytes, with: reader)
            guard receipt.event != .start else { return }
            for part in receipt.parts where part.outcome.isFinal {
                done[receipt.send, default: 0] += part.lines.count
                first = min(first, receipt.acceptedAt)
                last = max(last, receipt.writtenAt)
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
    var sends: Int { lastAnswers.count }

    var receiptsPerSecond: Double { Double(accepted + superseded) * 1000 / Double(max(1, last - first)) }

    /// Returns the percentile, in seconds, of the time from a send's acceptance to its last answer. Nil means
    /// all sends.
    func percentile(of sends: Set<String>?) -> Double {
        let some = lastAnswers.filter { sends?.contains($0.key) ?? true }
        let all = some.values.map { Double($0.last - $0.accepted) / 1000 }.sorted()
        return all.isEmpty ? 0 : all[min(all.count - 1, Int(Double(all.count) * 0.99))]
    }
}
