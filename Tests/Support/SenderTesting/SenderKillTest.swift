internal import Foundation
internal import IngestTesting
internal import Jobs
internal import Kafka
internal import ProcessTesting
internal import Simulation
internal import Telemetry

/// A kill test with two senders while jobs of several apps arrive. The senders are killed, frozen and stopped, and the
/// broker and the simulated APNs are killed. At the end `SenderCheck` must find every job done once.
package final class SenderKillTest {
    package struct Plan: Sendable {
        package var jobs = 20_000
        // The numbers of faults.
        package var kills = 4
        package var freezes = 1
        package var stops = 2
        package var brokerKills = 1
        package var apnsKills = 1
        /// A low limit, so that a kill can duplicate few pushes.
        package var permits = 200
        /// Longer than a session, so that a frozen sender wakes as a zombie.
        package var frozenMilliseconds = ConsumerOptions.sessionMillisecondsDefault + 3_000
        package var seed: UInt64 = 1

        package init() {}
    }

    /// A fault that was injected into a process, with its times in milliseconds since 1970.
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

        /// Whether pushes may have lost their sender or their answers.
        var isDeath: Bool { kind == .kill || kind == .freeze || kind == .apnsKill }
    }

    /// The time after which an answer of APNs counts as lost. It is short, so that a lane is not held for longer than
    /// until the next death. It is long enough for a busy machine, where six processes share two cores.
    static let answerMilliseconds = 2_500
    /// The time for which a new owner of a lane waits for records of its predecessor.
    private static let settleMilliseconds = 3_500
    /// The upper bound of the difference between the clock readings of two processes.
    static let clockMilliseconds = 100
    /// The limits of the waits for some receipts, and for all.
    private static let progressSecondsMax = 20.0
    private static let receiptsSecondsMax = 600.0
    /// The downtime of the broker and of APNs is random, and shorter than this.
    private static let downtimeMillisecondsMax = 2_000
    private static let lanes = 12

    private let plan: Plan
    private let programs: String
    private let directory: String
    private var random: SeededGenerator
    /// The broker, or nil if the test uses a running cluster.
    private var broker: RestartableProcess?
    private let bed: TestBed
    private let apns: SimulatedAPNs
    private var generator: JobGenerator
    private let receiptWatcher: ReceiptWatcher
    private var senders: [StageProcess] = []
    private var processFaults: [ProcessFault] = []
    /// The jobs that have a final receipt, by `JobPosition.number(ofLine:)`.
    private var finishedJobs: Set<UInt64> = []

    /// - Parameters:
    ///   - programs: The directory with `flotilla` and `flotilla-bench`.
    ///   - brokers: The addresses of a running cluster, which is not killed. Nil starts a broker that is killed.
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
        let faults = shuffledFaults()
        for number in 0..<2 { senders.append(try startSender(number: number)) }
        for (index, fault) in faults.enumerated() {
            let dueCount = plan.jobs * (index + 1) / faults.count
            generator.writeJobs(atLeast: dueCount - generator.jobCount)
            await waitForSomeReceipts()
            try await inject(fault, intoSender: random.number(below: 2))
        }
        guard generator.finish() else { throw KillTestFailure("some jobs were not stored") }
        try await waitForAllReceipts()
        for sender in senders { sender.stop() }
        for sender in senders { _ = try await sender.process.exitStatus() }
        return try SenderCheck(
            on: bed, records: apns.recordsPath, permits: plan.permits, after: processFaults)
    }

    /// Returns the faults of the plan in random order.
    private func shuffledFaults() -> [ProcessFault.Kind] {
        var faults = Array(repeating: ProcessFault.Kind.kill, count: plan.kills)
        faults += Array(repeating: .freeze, count: plan.freezes)
        faults += Array(repeating: .stop, count: plan.stops)
        faults += Array(repeating: .brokerKill, count: broker == nil ? 0 : plan.brokerKills)
        faults += Array(repeating: .apnsKill, count: plan.apnsKills)
        faults.shuffle(using: &random)
        return faults
    }

    private func startSender(number: Int) throws -> StageProcess {
        try StageProcess(
            .sender, of: "\(programs)/flotilla-bench", on: bed, data: "\(directory)/sender-\(number)",
            extraArguments: apns.workerArguments + [
                "--permits", String(plan.permits), "--answer-milliseconds", String(Self.answerMilliseconds),
                "--settle-milliseconds", String(Self.settleMilliseconds),
            ])
    }

    // MARK: Faults

    /// Waits until 5 to 84 percent of the open jobs are done, so that a process dies while it works.
    private func waitForSomeReceipts() async {
        let openJobs = generator.jobCount - finishedJobs.count
        let percent = 5 + random.number(below: 80)
        let targetCount = finishedJobs.count + max(1, openJobs * percent / 100)
        var deadline = PollingDeadline(seconds: Self.progressSecondsMax)
        while finishedJobs.count < targetCount, !deadline.hasPassed() { readReceipts() }
        try? await Task.sleep(for: .milliseconds(random.number(below: 40)))
    }

    private func readReceipts() {
        receiptWatcher.poll(waitMilliseconds: 5) { receipt in
            for part in receipt.parts where part.outcome.isFinal {
                part.lines.forEachLine { finishedJobs.insert(receipt.position.number(ofLine: $0)) }
            }
        }
    }

    private func inject(_ fault: ProcessFault.Kind, intoSender number: Int) async throws {
        let from = WallTime.now().milliseconds
        switch fault {
        case .kill:
            senders[number].kill()
            _ = try await senders[number].process.exitStatus()
            senders[number] = try startSender(number: number)
        case .freeze:
            // When the sender wakes, its lanes belong to the other sender.
            senders[number].freeze()
            let freezeEnd = Date(timeIntervalSinceNow: Double(plan.frozenMilliseconds) / 1000)
            while Date() < freezeEnd { readReceipts() }
            senders[number].resume()
        case .stop:
            senders[number].stop()
            _ = try await senders[number].process.exitStatus()
            senders[number] = try startSender(number: number)
        case .brokerKill:
            try await broker?.kill()
            try await Task.sleep(for: .milliseconds(random.number(below: Self.downtimeMillisecondsMax)))
            try await broker?.start()
        case .apnsKill:
            try await apns.process.kill()
            try await Task.sleep(for: .milliseconds(random.number(below: Self.downtimeMillisecondsMax)))
            try await apns.process.start()
        }
        processFaults.append(ProcessFault(kind: fault, from: from, until: WallTime.now().milliseconds))
        try restartExitedSenders()
    }

    /// Starts each sender that gave up again, as a supervisor does.
    private func restartExitedSenders() throws {
        for number in senders.indices where !senders[number].isRunning {
            senders[number] = try startSender(number: number)
        }
    }

    private func waitForAllReceipts() async throws {
        var deadline = PollingDeadline(seconds: Self.receiptsSecondsMax)
        while finishedJobs.count < generator.jobCount {
            guard !deadline.hasPassed() else {
                let errors = senders.map { $0.process.errors.suffix(1_500) }
                throw KillTestFailure(
                    "\(generator.jobCount - finishedJobs.count) jobs have no final receipt: \(errors)")
            }
            try restartExitedSenders()
            readReceipts()
        }
    }
}

extension JobPosition {
    /// Returns a number for a job of the sheet at this position. It is unique in `jobs` and `jobs.urgent`: 2 bits for
    /// the topic, 12 for the partition, 40 for the offset, 10 for the line.
    func number(ofLine line: Int) -> UInt64 {
        let topicNumber: UInt64 = topic == "jobs" ? 0 : 1
        return topicNumber << 62 | UInt64(partition) << 50 | UInt64(offset) << 10 | UInt64(line)
    }
}
