internal import APNsSimulator
internal import Foundation
internal import InstallationTesting
internal import LiveActivity
internal import Telemetry

/// A measurement of one update to a group of a million phones, with all processes on this machine: the time
/// from the gateway's 202 to the last answer of the simulated APNs, and the processor time.
enum MillionBenchmark {
    static let secondsWanted = 10.0
    static let coreSecondsWanted = 6.0
    /// The time after the last report in which the stages become idle.
    private static let restSeconds = 10.0

    static func run(_ arguments: [String]) throws {
        let options = try FleetBenchmark(arguments, phones: 1_000_000)
        let directory = try BenchmarkDirectory()
        print("one update to a group of \(grouped(Double(options.phones))) phones; one process of each stage")
        let path = directory.path
        try waiting { try await play(options, directory: path) }
    }

    private static func play(_ options: FleetBenchmark, directory: String) async throws {
        let fleet = try await Fleet(
            options.plan, programs: FleetBenchmark.programs, directory: directory)
        let backend = FleetBackend(fleet)
        let match = FleetMatch("match", of: fleet, by: backend)
        try await FleetBenchmark.begin(match, options.phones, on: fleet)
        for goals in 1...3 {
            try await Task.sleep(for: .seconds(restSeconds))
            let before = try await match.delivered()
            let cost = FleetCost(fleet)
            let accepted = try await match.send(match.update(goals), "update-\(goals)")
            try await match.waits(forDelivered: before + options.phones)
            // The receipts of the last answers are part of the work.
            try await Task.sleep(for: .seconds(2))
            report(
                try answers(fleet.records, since: accepted.at), since: accepted.at, cost: cost.seconds,
                of: options.phones)
        }
        try await fleet.stop()
    }

    private static func report(
        _ answers: [Int64], since accepted: Int64, cost: [(name: String, seconds: Double)], of phones: Int
    ) {
        let last = Double((answers.max() ?? accepted) - accepted) / 1000
        let first = Double((answers.min() ?? accepted) - accepted) / 1000
        let own = cost.filter { $0.name != FleetCost.simulator }.reduce(0) { $0 + $1.seconds }
        let names = cost.map { "\($0.name) \(FleetBenchmark.text($0.seconds))" }.joined(separator: ", ")
        print(
            "from the 202 to the last of \(grouped(Double(answers.count))) answers: \(FleetBenchmark.text(last)) s "
                + "(the first after \(first) s), wanted at most \(FleetBenchmark.text(secondsWanted))")
        print(
            "processor seconds of the fleet without the simulator: \(FleetBenchmark.text(own)), wanted at most "
                + "\(FleetBenchmark.text(coreSecondsWanted))")
        FleetBenchmark.say("of these: \(names)")
    }

    /// Returns the times at which updates since `time` were answered.
    private static func answers(_ records: String, since time: Int64) throws -> [Int64] {
        var all: [Int64] = []
        try RequestRecordReader(path: records).forEachRecord { record in
            // The first push can be answered before the 202 is read.
            guard record.kind == .push, record.status == 200, record.receivedAt >= time - 1_000 else {
                return
            }
            all.append(record.endedAt)
        }
        return all
    }
}
