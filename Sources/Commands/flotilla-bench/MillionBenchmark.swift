internal import APNsSimulator
internal import Foundation
internal import InstallationTesting
internal import Telemetry

/// A measurement of one update to a group of a million phones, with all processes on this machine: the time
/// from the gateway's 202 to the last answer of the simulated APNs, and the processor time.
enum MillionBenchmark {
    static let secondsWanted = 10.0
    static let coreSecondsWanted = 6.0
    /// The time after the last report in which the stages become idle.
    private static let idleSeconds = 10.0

    static func run(arguments: [String]) throws {
        let options = try FleetBenchmark(parsing: arguments, defaultPhones: 1_000_000)
        let directory = try BenchmarkDirectory()
        print("one update to a group of \(grouped(Double(options.phones))) phones; one process of each stage")
        let path = directory.path
        try runBlocking { try await measureUpdates(options: options, directory: path) }
    }

    private static func measureUpdates(options: FleetBenchmark, directory: String) async throws {
        let fleet = try await Fleet(
            plan: options.plan, programs: FleetBenchmark.programsDirectory, directory: directory)
        let backend = FleetBackend(fleet: fleet)
        let match = FleetMatch(group: "match", fleet: fleet, backend: backend)
        try await FleetBenchmark.startMatch(match, phones: options.phones, on: fleet)
        for goals in 1...3 {
            try await Task.sleep(for: .seconds(idleSeconds))
            let deliveredBefore = try await match.deliveredPushCount()
            let cost = FleetProcessorTime(of: fleet)
            let accepted = try await match.send(match.updateBody(goals: goals), named: "update-\(goals)")
            try await match.wait(forDelivered: deliveredBefore + options.phones)
            // The receipts of the last answers are part of the work.
            try await Task.sleep(for: .seconds(2))
            printResult(
                answeredAt: try readAnswerTimes(from: fleet.recordsPath, since: accepted.acceptedAt),
                acceptedAt: accepted.acceptedAt, cost: cost.seconds,
                phones: options.phones)
        }
        try await fleet.stop()
    }

    private static func printResult(
        answeredAt answerTimes: [Int64], acceptedAt: Int64, cost: [(name: String, seconds: Double)],
        phones: Int
    ) {
        let lastSeconds = Double((answerTimes.max() ?? acceptedAt) - acceptedAt) / 1000
        let firstSeconds = Double((answerTimes.min() ?? acceptedAt) - acceptedAt) / 1000
        let fleetSeconds = cost.filter { $0.name != FleetProcessorTime.simulatorName }.reduce(0) {
            $0 + $1.seconds
        }
        let names = cost.map { "\($0.name) \(FleetBenchmark.format(seconds: $0.seconds))" }.joined(
            separator: ", ")
        print(
            "from the 202 to the last of \(grouped(Double(answerTimes.count))) answers: \(FleetBenchmark.format(seconds: lastSeconds)) s "
                + "(the first after \(firstSeconds) s), wanted at most \(FleetBenchmark.format(seconds: secondsWanted))"
        )
        print(
            "processor seconds of the fleet without the simulator: \(FleetBenchmark.format(seconds: fleetSeconds)), wanted at most "
                + "\(FleetBenchmark.format(seconds: coreSecondsWanted))")
        FleetBenchmark.printIndented("of these: \(names)")
    }

    /// Returns the times at which updates since `time` were answered.
    private static func readAnswerTimes(from records: String, since time: Int64) throws -> [Int64] {
        var answerTimes: [Int64] = []
        try RequestRecordReader(path: records).forEachRecord { record in
            // The first push can be answered before the 202 is read.
            guard record.kind == .push, record.status == 200, record.receivedAt >= time - 1_000 else {
                return
            }
            answerTimes.append(record.endedAt)
        }
        return answerTimes
    }
}
