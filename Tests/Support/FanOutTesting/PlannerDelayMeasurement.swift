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

/// A measurement of the longest time that a send waits if one of two planners halts with an open transaction. The
/// sends of the halted planner wait for its successor. The sends of the other planner wait if their expansions lie
/// behind the open transaction.
package final class PlannerDelayMeasurement {
    package enum PlannerFault: Sendable {
        /// The process stops, as in a debugger or on a machine that hangs. It does not return.
        case stopped
        /// The process is killed and restarted at once.
        case restarted
    }

    private static let pollMilliseconds: Int32 = 50
    /// The number of sends before the second planner starts.
    private static let sendsBeforeVictim = 10
    /// The second planner halts in this transaction, between its offsets and its commit.
    private static let haltingTransaction = 30
    /// The time after the halt for which new sends arrive.
    private static let sendingSeconds = 3.0
    /// The limit of each wait for the planners.
    private static let waitSecondsMax = 60.0

    private let bed: TestBed
    private let program: String
    private let directory: String
    private let writer: RecordWriter
    private let expansionConsumer: Consumer
    private var batch = RecordBatch(recordsMax: 10_000, bytesMax: 16 << 20)
    private let reader = JSONReader(limits: Expansion.limits)
    /// The content state of every send.
    private let contentState: RawJSON
    private var sendCount = 0
    /// The sends that at least one lane has not received. `since` is the time at which the send was written, or the
    /// time of the halt if that is later.
    private var openSends: [String: (since: Instant, receivedLanes: Int)] = [:]
    /// The longest time, since the halt, until the last lane could read a send.
    private var longestSeconds = 0.0

    package init(program: String, bed: TestBed, directory: String) throws {
        self.bed = bed
        self.program = program
        self.directory = directory
        contentState = try RawJSON(checking: Array("{\"goals\":1}".utf8), with: JSONReader())
        writer = try RecordWriter(on: bed, to: .sends)
        expansionConsumer = try Consumer(
            settings: bed.settings, options: ConsumerOptions(membership: .manual), name: "watcher",
            log: .silent, metrics: Metrics())
    }

    /// Returns the longest time, in seconds, for which a send waited after the halt.
    package func measureSeconds(with fault: PlannerFault) async throws -> Double {
        let healthyProcess = try startProcess(named: "steady", halt: nil)
        // The healthy process is alone and owns all partitions, so its first sends are planned.
        try assignConsumer()
        try run(
            sending: { sendCount < Self.sendsBeforeVictim },
            until: { sendCount == Self.sendsBeforeVictim && openSends.isEmpty })
        let halt = StageProcess.PlannedHalt(
            fault == .stopped ? .stop : .death, atStep: PlannerStep.offsetsSent.rawValue,
            occurrence: Self.haltingTransaction)
        let victim = try startProcess(named: "victim", halt: halt)
        try run { victim.isHalted }
        // The wait for the rebalance between the two processes does not count.
        let haltedAt = Instant.now()
        longestSeconds = 0
        for id in openSends.keys { openSends[id]?.since = haltedAt }
        var restartedProcess: StageProcess?
        // The restarted process has the victim's name, so that it finds the data of the killed process.
        if fault == .restarted { restartedProcess = try startProcess(named: "victim", halt: nil) }
        func hasSentEnough() -> Bool { Instant.now().seconds(since: haltedAt) > Self.sendingSeconds }
        try run(sending: { !hasSentEnough() }, until: { hasSentEnough() && openSends.isEmpty })
        // A stopped process has not ended. A killed process is already gone.
        victim.kill()
        for process in [healthyProcess, restartedProcess].compactMap(\.self) {
            process.stop()
            _ = try await process.process.exitStatus()
        }
        _ = try await victim.process.exitStatus()
        return longestSeconds
    }

    private func startProcess(named name: String, halt: StageProcess.PlannedHalt?) throws -> StageProcess {
        // The session timeout is the default of operation, because the measured wait consists of it and of the
        // transaction timeout.
        try StageProcess(
            .planner, of: program, on: bed, data: "\(directory)/\(name)", halt: halt,
            extraArguments: ["--session-milliseconds", String(FanOutSettings().sessionMilliseconds)])
    }

    /// Lets the consumer read the expansions that are written from now on. The sends have the priority immediate, whose
    /// expansions lie in this topic.
    private func assignConsumer() throws {
        var starts: [PartitionStart] = []
        for lane in 0..<Int32(bed.layout.lanes) {
            let partition = TopicPartition(bed.layout.name(of: .expansionsUrgent), lane)
            starts.append(
                PartitionStart(
                    partition: partition,
                    position: .offset(try expansionConsumer.watermarks(of: partition).high)))
        }
        try expansionConsumer.assign(startingAt: starts)
    }

    /// Writes sends, each to a new group, and reads the expansions, until `isOver`.
    ///
    /// - Parameter isSending: Returns whether a new send is written in this round.
    private func run(sending isSending: () -> Bool = { true }, until isOver: () -> Bool) throws {
        let startedAt = Instant.now()
        while !isOver() {
            if Instant.now().seconds(since: startedAt) > Self.waitSecondsMax {
                throw KillTestFailure(
                    "the planners have not come to the next step in \(Self.waitSecondsMax) s; \(openSends.count) sends are not planned"
                )
            }
            if isSending() { writeSend() }
            try readExpansions()
        }
    }

    private func writeSend() {
        sendCount += 1
        var content = PushContent(.update)
        content.contentState = contentState
        let send = Send(
            id: "s\(sendCount)", app: TestBed.app.id, group: "match-\(sendCount)", audience: .group,
            content: content, priority: .immediate, acceptedAt: 1_763_600_000_000)
        openSends[send.id] = (.now(), 0)
        writer.write(key: send.scopeKey?.bytes, value: send.encoded())
    }

    /// Reads new expansions. A send that all lanes have received is no longer open.
    private func readExpansions() throws {
        _ = expansionConsumer.poll(into: &batch, waitMilliseconds: Self.pollMilliseconds)
        defer { batch.clear() }
        for index in 0..<batch.count {
            guard let value = batch[index].value,
                case .expansion(let expansion)? = try? unsafe value.withUnsafeBytes({
                    bytes throws(RecordDecodingError) in
                    try unsafe ExpansionRequest.decode(bytes, with: reader)
                }), var openSend = openSends[expansion.send]
            else { continue }
            openSend.receivedLanes += 1
            let isReceivedByAll = openSend.receivedLanes == bed.layout.lanes
            openSends[expansion.send] = isReceivedByAll ? nil : openSend
            if isReceivedByAll {
                longestSeconds = max(longestSeconds, Instant.now().seconds(since: openSend.since))
            }
        }
    }
}
