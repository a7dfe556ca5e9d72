internal import Foundation
internal import IngestTesting
internal import Jobs
internal import ProcessTesting
internal import Simulation
internal import Telemetry

/// A test in which two senders die again and again while jobs of several apps flow. The broker and APNs die
/// too. At the end a verdict, which knows only the content of Kafka and the records of APNs, must find every
/// job done once.
package final class SenderKillTest {
    package struct Plan: Sendable {
        package var jobs = 20_000
        package var kills = 4
        package var freezes = 1
        package var stops = 2
        package var brokerKills = 1
        package var apnsKills = 1
        /// A low limit, so that a kill can duplicate few pushes.
        package var permits = 200
        package var frozenMilliseconds = 10_000
        package var seed: UInt64 = 1

        package init() {}
    }

    /// An event of a process, with its times in milliseconds since 1970.
    package struct ProcessFault: Sendable {
        package enum Kind: String, Sendable {
            case kill
            case freeze
            case stop
            case brokerKill
            case apnsKill
        }

        package let kind: Kind
        package var from: Int64
        package var until: Int64

        package init(kind: Kind, from: Int64, until: Int64) {
            (self.kind, self.from, self.until) = (kind, from, until)
        }

        /// Whether pushes may have lost their senders or their answers.
        var isDeath: Bool { kind == .kill || kind == .freeze || kind == .apnsKill }
    }

    /// The time is short, so that a lane is not held for longer than until the next death. It is long enough
    /// for a busy machine, where six processes share two cores, to read an answer before it counts as lost.
    static let answerMilliseconds = 2_500
    private static let settleMilliseconds = 3_500
    /// Upper bound of the difference between the clock readings of two processes.
    static let clockMilliseconds = 100
    private static let progressSecondsMax = 20.0
    private static let receiptsSecondsMax = 600.0
    private static let lanes = 12

    private let plan: Plan
    private let programs: String
    private let directory: String
    private var random: SeededGenerator
    private var broker: RestartableProcess?
    private let bed: TestBed
    private let apns: SimulatedAPNs
    private var generator: JobGenerator
    private let receiptWatcher: ReceiptWatcher
    private var senders: [StageProcess] = []
    private var processFaults: [ProcessFault] = []
    /// Jobs that have a final receipt.
    private var finishedJobs: Set<UInt64> = []

    /// - Parameters:
    ///   - programs: the directory with `flotilla` and `flotilla-bench`.
    ///   - brokers: the addresses of a running cluster, which is not killed; nil to start a broker that is killed.
    package init(plan: Plan, programs: String, brokers: [String]?, directory: String) async throws {
        self.plan = plan
        self.programs = programs
        self.directory = directory
        random = SeededGenerator(seed: plan.seed)
        var addresses = brokers ?? []
        if brokers == nil {
            let process = try await RestartableProcess(
                program: "\(programs)/flotilla",
                arguments: [
                    "broker", "--listen", "127.0.0.1:PORT", "--data", "\(directory)/broker", "--flush", "os",
                    "--admin-listen", "127.0.0.1:0",
                ])
            addresses = ["127.0.0.1:\(process.port)"]
            broker = process
        }
        bed = try TestBed(brokers: addresses, lanes: Self.lanes)
        apns = try await SimulatedAPNs(
            programs: programs, directory: "\(directory)/apns", script: Self.script(seed: plan.seed))
        generator = try JobGenerator(on: bed, seed: plan.seed)
        receiptWatcher = try ReceiptWatcher(on: bed)
    }

    /// Returns the simulator's script: some answers are late, and some are temporary refusals.
    private static func script(seed: UInt64) -> String {
        """
        { "seed": \(seed), "rules": [
          { "match": { "share": 0.005 }, "answer": { "reason": "InternalServerError" } },
          { "match": { "share": 0.005 }, "answer": { "reason": "TooManyRequests" } },
          { "match": { "share": 0.002 }, "reset": { "code": "REFUSED_STREAM", "processed": false } },
          { "delay": { "uniform": { "fromMilliseconds": 10, "toMilliseconds": 80 } } } ] }
        """
    }

    package func run() async throws -> SenderCheck {
        var faults = Array(repeating: ProcessFault.Kind.kill, count: plan.kills)
        faults += Array(repeating: .freeze, count: plan.freezes)
        faults += Array(repeating: .stop, count: plan.stops)
        faults += Array(repeating: .brokerKill, count: broker == nil ? 0 : plan.brokerKills)
        faults += Array(repeating: .apnsKill, count: plan.apnsKills)
        faults.shuffle(using: &random)
        for which in 0..<2 { senders.append(try startSender(number: which)) }
        for (number, act) in faults.enumerated() {
            generator.writeJobs(atLeast: plan.jobs * (number + 1) / faults.count - generator.jobCount)
            await waitForSomeReceipts()
            try await inject(act, into: random.number(below: 2))
        }
        guard generator.finish() else { throw KillTestFailure("some jobs were not stored") }
        try await waitForAllReceipts()
        for sender in senders { sender.stop() }
        for sender in senders { _ = try await sender.process.exitStatus() }
        return try SenderCheck(
            on: bed, records: apns.recordsPath, permits: plan.permits, after: processFaults)
    }

    private func startSender(number which: Int) throws -> StageProcess {
        try StageProcess(
            .sender, of: "\(programs)/flotilla-bench", on: bed, data: "\(directory)/sender-\(which)",
            extraArguments: apns.workerArguments + [
                "--permits", String(plan.permits), "--answer-milliseconds", String(Self.answerMilliseconds),
                "--settle-milliseconds", String(Self.settleMilliseconds),
            ])
    }

    // MARK: Acts

    /// Waits until some of the waiting jobs are done, so that a process dies while it works.
    private func waitForSomeReceipts() async {
        let waiting = generator.jobCount - finishedJobs.count
        let goal = finishedJobs.count + max(1, waiting * (5 + random.number(below: 80)) / 100)
        let limit = Date(timeIntervalSinceNow: Self.progressSecondsMax)
        while finishedJobs.count < goal, Date() < limit { readReceipts() }
        try? await Task.sleep(for: .milliseconds(random.number(below: 40)))
    }

    private func readReceipts() {
        receiptWatcher.poll(waitMilliseconds: 5) { receipt in
            for part in receipt.parts where part.outcome.isFinal {
                part.lines.forEachLine { finishedJobs.insert(receipt.position.number(ofLine: $0)) }
            }
        }
    }

    private func inject(_ kind: ProcessFault.Kind, into which: Int) async throws {
        let from = WallTime.now().milliseconds
        switch kind {
        case .kill:
            senders[which].kill()
            _ = try await senders[which].process.exitStatus()
            senders[which] = try startSender(number: which)
        case .freeze:
            // The freeze lasts longer than the session. When the process wakes, its lanes belong to the other
            // one.
            senders[which].freeze()
            let until = Date(timeIntervalSinceNow: Double(plan.frozenMilliseconds) / 1000)
            while Date() < until { readReceipts() }
            senders[which].resume()
        case .stop:
            senders[which].stop()
            _ = try await senders[which].process.exitStatus()
            senders[which] = try startSender(number: which)
        case .brokerKill:
            try await broker?.kill()
            try await Task.sleep(for: .milliseconds(random.number(below: 2_000)))
            try await broker?.start()
        case .apnsKill:
            try await apns.process.kill()
            try await Task.sleep(for: .milliseconds(random.number(below: 2_000)))
            try await apns.process.start()
        }
        processFaults.append(ProcessFault(kind: kind, from: from, until: WallTime.now().milliseconds))
        // A process that gave up is started again, as a supervisor would do.
        for which in senders.indices where !senders[which].isRunning {
            senders[which] = try startSender(number: which)
        }
    }

    private func waitForAllReceipts() async throws {
        let limit = Date(timeIntervalSinceNow: Self.receiptsSecondsMax)
        while finishedJobs.count < generator.jobCount {
            guard Date() < limit else {
                let errors = senders.map { $0.process.errors.suffix(1_500) }
                throw KillTestFailure(
                    "\(generator.jobCount - finishedJobs.count) jobs have no final receipt: \(errors)")
            }
            for which in senders.indices where !senders[which].isRunning {
                senders[which] = try startSender(number: which)
            }
            readReceipts()
        }
    }
}

extension JobPosition {
    /// Returns a number for one of its jobs. It is unique among the topics of this test.
    func number(ofLine line: Int) -> UInt64 {
        let topic: UInt64 = topic == "jobs" ? 0 : 1
        return topic << 62 | UInt64(partition) << 50 | UInt64(offset) << 10 | UInt64(line)
    }
}
