internal import FanOut
internal import Foundation
package import IngestTesting
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import ProcessTesting
internal import Telemetry
internal import Topics

/// A measurement of how long sends wait if one of two planners halts with an open transaction. Its own sends
/// wait, and so do the sends of the other planner whose records lie behind the open transaction.
package final class PlannerHoldUp {
    package enum Trouble: Sendable {
        /// Stopped, as by a debugger or on a machine that hangs. It does not return.
        case stopped
        /// Killed and restarted at once.
        case restarted
    }

    private static let readMilliseconds: Int32 = 50
    /// The time for which new sends arrive.
    private static let sendingSeconds = 3.0
    private static let sendsBefore = 10
    private static let limitSeconds = 60.0
    /// The number of transactions that the process completes before it halts.
    private static let transactionsBefore = 30

    private let bed: IngestBed
    private let program: String
    private let directory: String
    private let sender: ReportSender
    private let watcher: Consumer
    private var batch = RecordBatch(recordsMax: 10_000, bytesMax: 16 << 20)
    private let reader = JSONReader(limits: Expansion.limits)
    private var number = 0
    /// The sends that at least one lane has not received.
    private var open: [String: (since: Instant, lanes: Int)] = [:]
    private var longest = 0.0

    package init(program: String, bed: IngestBed, directory: String) throws {
        self.bed = bed
        self.program = program
        self.directory = directory
        sender = try ReportSender(bed, to: .sends)
        watcher = try Consumer(
            settings: bed.settings, options: ConsumerOptions(membership: .manual), name: "watcher",
            log: .silent, metrics: Metrics())
    }

    /// - Returns: The longest time, in seconds, until the last lane could read a send.
    package func seconds(of trouble: Trouble) async throws -> Double {
        let steady = try process("steady", halt: nil)
        // Alone it owns all partitions, and its first sends are planned.
        try watch()
        try goOn(
            sending: { number < Self.sendsBefore }, until: { number == Self.sendsBefore && open.isEmpty })
        let halt = StageProcess.Death(
            step: PlannerStep.offsetsSent.rawValue, time: Self.transactionsBefore,
            isStop: trouble == .stopped)
        let victim = try process("victim", halt: halt)
        try goOn { victim.isHalted }
        // The wait for the rebalance between the two processes does not count.
        let halted = Instant.now()
        longest = 0
        for id in open.keys { open[id]?.since = halted }
        var again: StageProcess?
        if trouble == .restarted { again = try process("victim", halt: nil) }
        func isLate() -> Bool { Instant.now().seconds(since: halted) > Self.sendingSeconds }
        try goOn(sending: { !isLate() }, until: { isLate() && open.isEmpty })
        victim.kill()
        for process in [steady, again].compactMap(\.self) {
            process.stop()
            _ = try await process.process.exitStatus()
        }
        _ = try await victim.process.exitStatus()
        return longest
    }

    private func process(_ name: String, halt: StageProcess.Death?) throws -> StageProcess {
        // The session timeout is the default of operation. The measured wait consists of it and the
        // transaction timeout.
        try StageProcess(
            .planner, of: program, on: bed, data: "\(directory)/\(name)", death: halt,
            more: ["--session-milliseconds", String(FanOutSettings().sessionMilliseconds)])
    }

    private func watch() throws {
        var starts: [PartitionStart] = []
        for lane in 0..<Int32(bed.layout.lanes) {
            let partition = TopicPartition(bed.layout.name(of: .expansions), lane)
            starts.append(
                PartitionStart(
                    partition: partition, position: .offset(try watcher.watermarks(of: partition).high)))
        }
        try watcher.assign(startingAt: starts)
    }

    /// Sends one send at a time, each to a new group, and reads the expansions.
    ///
    /// - Parameter isSending: Returns false if no new send is wanted.
    private func goOn(sending isSending: () -> Bool = { true }, until isOver: () -> Bool) throws {
        let begun = Instant.now()
        while !isOver() {
            if Instant.now().seconds(since: begun) > Self.limitSeconds {
                throw KillFault("after \(Self.limitSeconds) s \(open.count) sends are not planned")
            }
            if isSending() { send() }
            try look()
        }
    }

    private func send() {
        number += 1
        var content = PushContent(.update)
        content.contentState = try? RawJSON(checking: Array("{\"goals\":1}".utf8), with: reader)
        let send = Send(
            id: "s\(number)", app: IngestBed.app.id, group: "match-\(number)", audience: .group,
            content: content,
            priority: 10, acceptedAt: 1_763_600_000_000)
        open[send.id] = (.now(), 0)
        sender.send(key: send.scopeKey?.bytes, value: send.encoded())
    }

    private func look() throws {
        _ = watcher.poll(into: &batch, waitMilliseconds: Self.readMilliseconds)
        defer { batch.clear() }
        for index in 0..<batch.count {
            guard let value = batch[index].value,
                case .expansion(let expansion)? = try? unsafe value.withUnsafeBytes({
                    bytes throws(RecordDecodingError) in
                    try unsafe ExpansionRequest.decode(bytes, with: reader)
                }), let sent = open[expansion.send]
            else { continue }
            open[expansion.send]?.lanes += 1
            guard sent.lanes + 1 == bed.layout.lanes else { continue }
            longest = max(longest, Instant.now().seconds(since: sent.since))
            open[expansion.send] = nil
        }
    }
}
