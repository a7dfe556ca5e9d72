package import IngestTesting
internal import JSON
internal import Kafka
internal import RecordFormat
internal import Schedules
internal import Sends
internal import Topics

/// A check of all records that schedulers have committed. Each command must have one reply, and each timer one outcome.
/// It reads the topics after the end of all work, and knows nothing of processes and crashes.
package struct SchedulerChecker {
    /// A cancel always wins if its record is written at least this long before the due time.
    private static let cancelLeadMilliseconds: Int64 = 2000

    private enum TimerOutcome { case fired, expired, cancelled, replaced }

    private struct Position {
        var partition: Int32
        var offset: Int64
    }

    private struct Timer {
        var schedule: Schedule
        var command: ScheduleCommand
        /// In milliseconds since 1970.
        var dueAt: Int64
        /// The position of its command in `schedules`.
        var position: Position
    }

    private struct Cancel {
        var command: ScheduleCommand
        /// The cluster's timestamp of the command's record.
        var timestamp: Int64
        var position: Position
    }

    private let reader = JSONReader()

    // The commands.
    /// The timers by the id of their send.
    private var timers: [String: Timer] = [:]
    private var cancels: [Cancel] = []
    /// The requests that expect a reply.
    private var requests: Set<String> = []

    // The scheduler's output.
    private var replies: [String: GatewayReply.Outcome] = [:]
    /// The outcomes by the id of the send.
    private var outcomes: [String: TimerOutcome] = [:]
    private var endChecker = AutomaticEndChecker()

    /// The positions of records that are not commands, as topic, partition and offset.
    package private(set) var rejectedPositions: Set<String> = []
    package var firedCount: Int { outcomes.values.count { $0 == .fired } }
    package var cancelledCount: Int { outcomes.values.count { $0 == .cancelled } }
    package var replacedCount: Int { outcomes.values.count { $0 == .replaced } }
    /// The number of groups that ended at their end date.
    package var endedCount: Int { endChecker.firedCount }
    /// The first fault, or nil if everything is right.
    package private(set) var fault: String?

    /// Reads the topics and checks them.
    package init(on bed: TestBed) throws {
        try readCommands(in: bed)
        try readEnds(in: bed)
        try readReplies(in: bed)
        try readProgress(in: bed)
        try readSends(in: bed)
        checkTimers()
        checkCancels()
        if let missingEnd = endChecker.missingEnd { recordFault(missingEnd) }
        try checkRows(in: bed)
    }

    private mutating func recordFault(_ text: String) { fault = fault ?? text }

    private mutating func readCommands(in bed: TestBed) throws {
        for record in try TopicContent(of: .schedules, in: bed).records {
            let request = try? unsafe (record.value ?? []).withUnsafeBytes { bytes in
                try unsafe ScheduleRequest.decode(bytes, with: reader)
            }
            switch request {
            case nil: markRejected(record, of: .schedules, in: bed)
            case .timeProbe: break
            case .command(let command):
                guard
                    Murmur2.partition(forKey: command.key.span, partitionCount: bed.layout.lanes)
                        == Int(record.partition)
                else {
                    markRejected(record, of: .schedules, in: bed)
                    continue
                }
                add(command, from: record)
            }
        }
    }

    private mutating func add(_ command: ScheduleCommand, from record: ReadRecord) {
        let position = Position(partition: record.partition, offset: record.offset)
        if let replyTo = command.replyTo { requests.insert(replyTo.request) }
        switch command.action {
        case .schedule(let schedule):
            timers[schedule.send.id] = Timer(
                schedule: schedule, command: command,
                dueAt: schedule.dueAt(recordTimestamp: record.timestamp), position: position)
        case .cancel:
            cancels.append(Cancel(command: command, timestamp: record.timestamp, position: position))
        // The load has no erasures.
        case .list, .erase: break
        }
    }

    private mutating func readEnds(in bed: TestBed) throws {
        for record in try TopicContent(of: .schedulesAuto, in: bed).records {
            guard let end = try? AutomaticEnd.decode(record.value ?? [], with: reader),
                Murmur2.partition(forKey: end.key.span, partitionCount: bed.layout.lanes)
                    == Int(record.partition)
            else {
                markRejected(record, of: .schedulesAuto, in: bed)
                continue
            }
            endChecker.recordRequest(for: end)
        }
    }

    private mutating func markRejected(_ record: ReadRecord, of topic: TopicName, in bed: TestBed) {
        rejectedPositions.insert("\(bed.layout.name(of: topic))/\(record.partition)/\(record.offset)")
    }

    private mutating func readReplies(in bed: TestBed) throws {
        for record in try TopicContent(of: .replies, in: bed).records {
            let reply = try GatewayReply.decode(record.value ?? [], with: reader)
            if replies.updateValue(reply.outcome, forKey: reply.request) != nil {
                recordFault("\(reply.request) has two replies")
            }
        }
        if Set(replies.keys) != requests {
            recordFault("\(requests.count) requests were made, \(replies.count) have replies")
        }
    }

    private mutating func setOutcome(ofSend send: String, to outcome: TimerOutcome) {
        if let earlierOutcome = outcomes.updateValue(outcome, forKey: send) {
            recordFault("\(send) is \(outcome) and was already \(earlierOutcome)")
        }
    }

    private mutating func readProgress(in bed: TestBed) throws {
        for record in try TopicContent(of: .progress, in: bed).records {
            let progress = try ProgressRecord.decode(record.value ?? [], with: reader)
            guard case .planner(let part) = progress.part else { continue }
            switch part.verdict {
            case .cancelled: setOutcome(ofSend: progress.send, to: .cancelled)
            case .superseded: setOutcome(ofSend: progress.send, to: .replaced)
            case .expired: setOutcome(ofSend: progress.send, to: .expired)
            default: recordFault("\(progress.send) has the unexpected verdict \(part.verdict)")
            }
        }
    }

    private mutating func readSends(in bed: TestBed) throws {
        for record in try TopicContent(of: .sendsTimed, in: bed).records {
            let send = try Send.decode(record.value ?? [], with: reader)
            let groupPartition = send.scopeKey.map {
                Murmur2.partition(forKey: $0.bytes.span, partitionCount: bed.layout.lanes)
            }
            if groupPartition != Int(record.partition) {
                recordFault("\(send.id) is in a partition other than its group's")
            }
            // Only an automatic END has the generation that it ends.
            if let generation = send.generation {
                if let fault = endChecker.checkFired(send, of: generation, at: record.timestamp) {
                    recordFault(fault)
                }
                continue
            }
            setOutcome(ofSend: send.id, to: .fired)
            guard let timer = timers[send.id] else {
                recordFault("\(send.id) was never scheduled")
                continue
            }
            if record.timestamp < timer.dueAt {
                recordFault("\(send.id) fires \(timer.dueAt - record.timestamp) ms early")
            }
            // A fired send counts as accepted at its due time.
            var expectedSend = timer.schedule.send
            (expectedSend.acceptedAt, expectedSend.scheduledAt) = (timer.dueAt, send.scheduledAt)
            if send != expectedSend { recordFault("\(send.id) differs from the scheduled send") }
        }
    }

    private mutating func checkTimers() {
        for (id, timer) in timers {
            guard let request = timer.command.replyTo?.request, let reply = replies[request] else {
                continue
            }
            switch reply {
            case .scheduled(let scheduled) where scheduled.send == id:
                if outcomes[id] == nil { recordFault("\(id) has no outcome") }
                if scheduled.dueAt != timer.dueAt { recordFault("\(id) has another due time in its reply") }
                // Only a timer that must not be late can expire. The other limits in tests are ten minutes or more.
                if outcomes[id] == .expired, timer.schedule.latenessMillisecondsMax > 0 {
                    recordFault("\(id) expired")
                }
            // A reply with another send's id answers a repeated idempotency key.
            case .scheduled, .conflict, .refused:
                if outcomes[id] != nil { recordFault("\(id) was not accepted but has an outcome") }
            default: recordFault("\(id) has the wrong reply \(reply)")
            }
        }
    }

    private mutating func checkCancels() {
        var cancelledByReplies = 0
        let firedTimersOfOwners = Dictionary(
            grouping: timers.filter { outcomes[$0.key] == .fired }, by: { $0.value.command.owner })
        for cancel in cancels {
            guard case .cancel(let selection) = cancel.command.action else { continue }
            if let request = cancel.command.replyTo?.request, case .cancelled(let count, _) = replies[request]
            {
                cancelledByReplies += count
            }
            for (id, timer) in firedTimersOfOwners[cancel.command.owner] ?? [] {
                let isSelected =
                    timer.position.partition == cancel.position.partition
                    && timer.position.offset < cancel.position.offset
                    && selects(selection, schedule: timer.schedule)
                let isInTime = cancel.timestamp <= timer.dueAt - Self.cancelLeadMilliseconds
                if isSelected, isInTime { recordFault("\(id) was cancelled in time but fires") }
            }
        }
        if cancelledByReplies != cancelledCount {
            recordFault(
                "\(cancelledByReplies) timers are cancelled by the replies, but \(cancelledCount) by the verdicts"
            )
        }
    }

    private func selects(_ selection: ScheduleCommand.TimerSelection, schedule: Schedule) -> Bool {
        switch selection {
        case .activity(let name): schedule.activity == name
        case .id(let id): schedule.id == id
        case .send(let id): schedule.send.id == id
        }
    }

    /// Checks that no timer is left. Only idempotency rows may remain.
    private mutating func checkRows(in bed: TestBed) throws {
        for key in try TopicContent(of: .timers, in: bed).newestValues.keys {
            if unsafe !key.withUnsafeBytes({ unsafe ScheduleIdempotencyRow.isKey($0) }) {
                recordFault("a timer remains: \(String(decoding: key, as: UTF8.self))")
            }
        }
    }
}
