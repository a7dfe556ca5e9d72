internal import Foundation
internal import IngestTesting
internal import InstallationTesting

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
        let start = Date()
        var updates: Set<String> = []
        for goals in 1...options.updates {
            let secondsUntilDue = start.addingTimeInterval(Double(goals - 1)).timeIntervalSinceNow
            if secondsUntilDue > 0 { try await Task.sleep(for: .seconds(secondsUntilDue)) }
            updates.insert(try await match.send(match.updateBody(goals: goals), named: "update-\(goals)").id)
        }
        let end = try await match.send(match.endBody(goals: options.updates), named: "end")
        let day = try await waitForEnd(of: match, send: end, on: fleet, options: options)
        FleetBenchmark.printIndented(
            "the updates and the end took \(FleetBenchmark.format(seconds: Date().timeIntervalSince(start))) s: "
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
                + "\(FleetBenchmark.format(seconds: day.percentile99Seconds())) s")
        FleetBenchmark.printIndented(
            "of the updates, which newer ones may replace: \(FleetBenchmark.format(seconds: day.percentile99Seconds(of: updates))) s; "
                + "of the end, which every phone gets: \(FleetBenchmark.format(seconds: day.percentile99Seconds(of: [end.id]))) s"
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
        let deadline = Date(timeIntervalSinceNow: 300)
        let step = StepProgressReporter(name: "end", on: fleet) {
            "\(grouped(Double(try await match.deliveredPushCount()))) pushes were delivered"
        }
        var delivered = try await match.deliveredPushCount()
        while true {
            try await Task.sleep(for: .seconds(2))
            try await step.reportIfDue()
            let deliveredNow = try await match.deliveredPushCount()
            let nothingWasDelivered = deliveredNow == delivered
            delivered = deliveredNow
            guard nothingWasDelivered || Date() >= deadline else { continue }
            let day = try DayReceipts(from: fleet.bed)
            if day.finishedJobs[end.id, default: 0] >= options.phones { return day }
            guard Date() < deadline else {
                throw BenchmarkFailure(
                    "\(day.finishedJobs[end.id] ?? 0) of \(options.phones) phones have the end")
            }
        }
    }
}
