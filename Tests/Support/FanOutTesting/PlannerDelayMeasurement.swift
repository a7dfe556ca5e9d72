internal import CatalogRecords
internal import FanOut
internal import Foundation
package import IngestTesting
internal import JSON
internal import Kafka
internal import Lifecycle
internal import Payloads
internal import ProcessTesting
internal import RecordFormat
internal import Sends
internal import Telemetry
internal import Topics

/// A measurement of how long sends wait if one of two planners halts with an open transaction. Its own sends
/// wait, and so do the sends of the other planner whose records lie behind the open transaction.
package final class PlannerDelayMeasurement {
    package enum PlannerFault: Sendable {
        /// Stopped, as by a debugger or on a machine that hangs. It does not return.
        case stopped
        /// Killed and restarted at once.
        case restarted
    }

    private static let readMilliseconds: Int32 = 50
    /// The time for which new sends arrive.
    private static let sendingSeconds = 3.0
    private static let sendsBefore = 10
    private static let planningSecondsMax = 60.0
    /// The number of transactions that the process completes before it halts.
    private static let transactionsBefore = 30

    private let bed: TestBed
    private let program: String
    private let directory: String
    private let writer: RecordWriter
    private let expansionConsumer: Consumer
    private var batch = RecordBatch(recordsMax: 10_000, bytesMax: 16 << 20)
    private let reader = JSONReader(limits: Expansion.limits)
    private var sendCount = 0
    /// The sends that at least one lane has not received.
    private var openSends: [String: (since: Instant, lanes: Int)] = [:]
    private var longestSeconds = 0.0

    package init(program: String, bed: TestBed, directory: String) throws {
        self.bed = bed
        self.program = program
        self.directory = directory
        writer = try RecordWriter(on: bed, to: .sends)
        expansionConsumer = try Consumer(
            settings: bed.settings, options: ConsumerOptions(membership: .manual), name: "watcher",
            log: .silent, metrics: Metrics())
    }

    /// - Returns: The longest time, in seconds, until the last lane could read a send.
    package func measureSeconds(with trouble: PlannerFault) async throws -> Double {
        let healthyProcess = try startProcess(named: "steady", halt: nil)
        // Alone it owns all partitions, and its first sends are planned.
        try assignConsumer()
        try run(
            sending: { sendCount < Self.sendsBefore },
            until: { sendCount == Self.sendsBefore && openSends.isEmpty })
        let halt = StageProcess.PlannedDeath(
            step: PlannerStep.offsetsSent.rawValue, time: Self.transactionsBefore,
            isStop: trouble == .stopped)
        let victim = try startProcess(named: "victim", halt: halt)
        try run { victim.isHalted }
        // The wait for the rebalance between the two processes does not count.
        let halted = Instant.now()
        longestSeconds = 0
        for id in openSends.keys { openSends[id]?.since = halted }
        var restarted: StageProcess?
        if trouble == .restarted { restarted = try startProcess(named: "victim", halt: nil) }
        func isLate() -> Bool { Instant.now().seconds(since: halted) > Self.sendingSeconds }
        try run(sending: { !isLate() }, until: { isLate() && openSends.isEmpty })
        victim.kill()
        for process in [healthyProcess, restarted].compactMap(\.self) {
            process.stop()
            _ = try await process.process.exitStatus()
        }
        _ = try await victim.process.exitStatus()
        return longestSeconds
    }

    private func startProcess(named name: String, halt: StageProcess.PlannedDeath?) throws -> StageProcess {
        // The session timeout is the default of operation. The measured wait consists of it and the
        // transaction timeout.
        try StageProcess(
            .planner, of: program, on: bed, data: "\(directory)/\(name)", death: halt,
            extraArguments: ["--session-milliseconds", String(FanOutSettings().sessionMilliseconds)])
    }

    private func assignConsumer() throws {
        var starts: [PartitionStart] = []
        for lane in 0..<Int32(bed.layout.lanes) {
            let partition = TopicPartition(bed.layout.name(of: .expansions), lane)
            starts.append(
                PartitionStart(
                    partition: partition,
                    position: .offset(try expansionConsumer.watermarks(of: partition).high)))
        }
        try expansionConsumer.assign(startingAt: starts)
    }

    /// Sends one send at a time, each to a new group, and reads the expansions.
    ///
    /// - Parameter isSending: Returns false if no new send is wanted.
    private func run(sending isSending: () -> Bool = { true }, until isOver: () -> Bool) throws {
        let begun = Instant.now()
        while !isOver() {
            if Instant.now().seconds(since: begun) > Self.planningSecondsMax {
                throw KillTestFailure(
                    "after \(Self.planningSecondsMax) s \(openSends.count) sends are not planned")
            }
            if isSending() { writeSend() }
            try readExpansions()
        }
    }

    private func writeSend() {
        sendCount += 1
        var content = PushContent(.update)
        content.contentState = try? RawJSON(checking: Array("{\"goals\":1}".utf8), with: reader)
        let send = Send(
            id: "s\(sendCount)", app: TestBed.app.id, group: "match-\(sendCount)", audience: .group,
            content: content,
            priority: .immediate, acceptedAt: 1_763_600_000_000)
        openSends[send.id] = (.now(), 0)
        writer.write(key: send.scopeKey?.bytes, value: send.encoded())
    }

    private func readExpansions() throws {
        _ = expansionConsumer.poll(into: &batch, waitMilliseconds: Self.readMilliseconds)
        defer { batch.clear() }
        for index in 0..<batch.count {
            guard let value = batch[index].value,
                case .expansion(let expansion)? = try? unsafe value.withUnsafeBytes({
                    bytes throws(RecordDecodingError) in
                    try unsafe ExpansionRequest.decode(bytes, with: reader)
                }), let sent = openSends[expansion.send]
            else { continue }
            openSends[expansion.send]?.lanes += 1
            guard sent.lanes + 1 == bed.layout.lanes else { continue }
            longestSeconds = max(longestSeconds, Instant.now().seconds(since: sent.since))
            openSends[expansion.send] = nil
        }
    }
}
