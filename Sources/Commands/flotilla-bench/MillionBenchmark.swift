internal import APNsSimulator
internal import Foundation
internal import InstallationTesting
internal import Telemetry

/// A measurement of one update to a group of a million phones, with all processes on this machine: the time
/// from the gateway's 202 to the last answer of the simulated APNs, and the processor time.
enum MillionBenchmark {
    /// The wanted time from the 202 to the last answer.
    static let secondsWanted = 10.0
    /// The wanted processor time of all processes except the simulator.
    static let coreSecondsWanted = 6.0
    private static let updateCount = 3
    /// The pause before each update, in which the stages become idle.
    private static let idleSeconds = 10.0
    /// The time after the last answer in which the sender writes the remaining receipts, which are part of the work.
    private static let receiptSeconds = 2.0
    /// The backend takes the time of the 202 after it has read it. APNs can have the first push this much earlier.
    private static let earlyPushMilliseconds: Int64 = 1_000

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
        for goals in 1...updateCount {
            try await Task.sleep(for: .seconds(idleSeconds))
            let pushCountBefore = try await match.deliveredPushCount()
            let processorTime = FleetProcessorTime(of: fleet)
            let update = try await match.send(match.updateBody(goals: goals), named: "update-\(goals)")
            try await match.waitUntilDelivered(pushes: pushCountBefore + options.phones)
            try await Task.sleep(for: .seconds(receiptSeconds))
            let answerTimes = try readAnswerTimes(from: fleet.recordsPath, since: update.acceptedAt)
            let secondsByProcess = processorTime.seconds
            printLatency(answerTimes: answerTimes, acceptedAt: update.acceptedAt)
            printProcessorTime(secondsByProcess)
        }
        try await fleet.stop()
    }

    /// Returns the times, in milliseconds since 1970, at which the simulator answered pushes that it received since a
    /// time. `path` is the simulator's file of records.
    private static func readAnswerTimes(from path: String, since time: Int64) throws -> [Int64] {
        var answerTimes: [Int64] = []
        try RequestRecordReader(path: path).forEachRecord { record in
            let isAccepted = record.kind == .push && record.status == 200
            guard isAccepted, record.receivedAt >= time - earlyPushMilliseconds else { return }
            answerTimes.append(record.endedAt)
        }
        return answerTimes
    }

    private static func printLatency(answerTimes: [Int64], acceptedAt: Int64) {
        let lastSeconds = Double((answerTimes.max() ?? acceptedAt) - acceptedAt) / 1000
        let firstSeconds = Double((answerTimes.min() ?? acceptedAt) - acceptedAt) / 1000
        print(
            "from the 202 to the last of \(grouped(Double(answerTimes.count))) answers: \(FleetBenchmark.format(seconds: lastSeconds)) s "
                + "(the first after \(firstSeconds) s), wanted at most \(FleetBenchmark.format(seconds: secondsWanted))"
        )
    }

    private static func printProcessorTime(_ secondsByProcess: [(name: String, seconds: Double)]) {
        let fleetSeconds = secondsByProcess.filter { $0.name != FleetProcessorTime.simulatorName }.reduce(0) {
            $0 + $1.seconds
        }
        let parts = secondsByProcess.map { "\($0.name) \(FleetBenchmark.format(seconds: $0.seconds))" }
        print(
            "processor seconds of the fleet without the simulator: \(FleetBenchmark.format(seconds: fleetSeconds)), wanted at most "
                + "\(FleetBenchmark.format(seconds: coreSecondsWanted))")
        FleetBenchmark.printIndented("of these: \(parts.joined(separator: ", "))")
    }
}
