package import IngestTesting
internal import JSON
internal import Kafka
internal import RecordFormat
internal import Schedules
internal import Sends
internal import Topics

/// A check of the records that a scheduler has committed, independent of crashes: each order has one answer,
/// and each timer has one fate.
package struct SchedulerChecker {
    private enum TimerOutcome { case fired, expired, cancelled, replaced }

    private struct Timer {
        var schedule: Schedule
        var command: ScheduleCommand
        var dueAt: Int64
        /// The position of its order.
        var position: (partition: Int32, offset: Int64)
    }

    private let reader = JSONReader()
    private var timers: [String: Timer] = [:]
    private var cancellations:
        [(order: ScheduleCommand, stamp: Int64, place: (partition: Int32, offset: Int64))] =
            []
    private var requests: Set<String> = []
    private var replies: [String: ScheduleReply.Outcome] = [:]
    private var outcomes: [String: TimerOutcome] = [:]
    private var endChecker = AutomaticEndChecker()
    /// The positions of records that are not orders, as topic, partition and offset.
    package private(set) var rejectedPositions: Set<String> = []
    package var firedCount: Int { outcomes.values.count { $0 == .fired } }
    package var cancelledCount: Int { outcomes.values.count { $0 == .cancelled } }
    package var replacedCount: Int { outcomes.values.count { $0 == .replaced } }
    /// The number of groups that ended at their end date.
    package var endedCount: Int { endChecker.firedCount }
    package private(set) var fault: String?

    package init(on bed: TestBed) throws {
        try readCommands(in: bed)
        try readEnds(in: bed)
        try readReplies(in: bed)
        try readProgress(in: bed)
        try readSends(in: bed)
        checkTimers()
        checkCancellations()
        if let missingEnd = endChecker.missingEnd { recordFault(missingEnd) }
        try checkRows(in: bed)
    }

    private mutating func recordFault(_ text: String) { fault = fault ?? text }

    private mutating func readCommands(in bed: TestBed) throws {
        for record in try TopicContent(of: .schedules, in: bed).records {
            let place = (record.partition, record.offset)
            let read = try? unsafe (record.value ?? []).withUnsafeBytes { bytes in
                try unsafe ScheduleRequest.decode(bytes, with: reader)
            }
            switch read {
            case nil: markRejected(record, of: .schedules, in: bed)
            case .timeProbe: break
            case .command(let order):
                guard
                    Murmur2.partition(forKey: order.key.span, partitionCount: bed.layout.lanes)
                        == Int(record.partition)
                else {
                    markRejected(record, of: .schedules, in: bed)
                    continue
                }
                if let replyTo = order.replyTo { requests.insert(replyTo.request) }
                switch order.action {
                case .schedule(let schedule):
                    timers[schedule.send.id] = Timer(
                        schedule: schedule, command: order,
                        dueAt: schedule.dueAt(recordTimestamp: record.timestamp),
                        position: place)
                case .cancel: cancellations.append((order, record.timestamp, place))
                case .list: break
                }
            }
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
            let reply = try ScheduleReply.decode(record.value ?? [], with: reader)
            if replies.updateValue(reply.outcome, forKey: reply.request) != nil {
                recordFault("\(reply.request) has two answers")
            }
        }
        if Set(replies.keys) != requests {
            recordFault("\(requests.count) requests were made, \(replies.count) have answers")
        }
    }

    private mutating func setOutcome(ofSend send: String, to outcome: TimerOutcome) {
        if let other = outcomes.updateValue(outcome, forKey: send) {
            recordFault("\(send) is \(outcome) and was already \(other)")
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
            let home = send.scopeKey.map {
                Murmur2.partition(forKey: $0.bytes.span, partitionCount: bed.layout.lanes)
            }
            if home != Int(record.partition) {
                recordFault("\(send.id) is in a partition other than its group's")
            }
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
            var expected = timer.schedule.send
            (expected.acceptedAt, expected.scheduledAt) = (timer.dueAt, send.scheduledAt)
            if send != expected { recordFault("\(send.id) differs from the scheduled send") }
        }
    }

    private mutating func checkTimers() {
        for (id, timer) in timers {
            guard let request = timer.command.replyTo?.request, let answer = replies[request] else {
                continue
            }
            switch answer {
            case .scheduled(let scheduled) where scheduled.send == id:
                if outcomes[id] == nil { recordFault("\(id) has no fate") }
                if scheduled.dueAt != timer.dueAt { recordFault("\(id) has another due time in its answer") }
                if outcomes[id] == .expired, timer.schedule.latenessMillisecondsMax > 0 {
                    recordFault("\(id) expired")
                }
            case .scheduled, .conflict, .refused:
                if outcomes[id] != nil { recordFault("\(id) was not accepted but has a fate") }
            default: recordFault("\(id) has the wrong answer \(answer)")
            }
        }
    }

    private mutating func checkCancellations() {
        var cancelledByReplies = 0
        for cancel in cancellations {
            guard case .cancel(let choice) = cancel.order.action else { continue }
            if let request = cancel.order.replyTo?.request, case .cancelled(let count, _) = replies[request] {
                cancelledByReplies += count
            }
            for (id, timer) in timers where timer.position.partition == cancel.place.partition {
                guard timer.command.owner == cancel.order.owner, timer.position.offset < cancel.place.offset,
                    cancel.stamp <= timer.dueAt - 2000, selects(choice, schedule: timer.schedule),
                    outcomes[id] == .fired
                else { continue }
                recordFault("\(id) was cancelled in time but fires")
            }
        }
        if cancelledByReplies != cancelledCount {
            recordFault(
                "\(cancelledByReplies) timers are cancelled by the answers, but \(cancelledCount) by the verdicts"
            )
        }
    }

    private func selects(_ selection: ScheduleCommand.TimerSelection, schedule: Schedule) -> Bool {
        switch selection {
        case .activity(let name): schedule.activity == name
        case .id(let id): schedule.id == id
        case .send(let id): schedule.send.id == id
        case .everything: true
        }
    }

    private mutating func checkRows(in bed: TestBed) throws {
        for key in try TopicContent(of: .timers, in: bed).newestValues.keys {
            if unsafe !key.withUnsafeBytes({ unsafe ScheduleIdempotencyRow.isKey($0) }) {
                recordFault("a timer remains: \(String(decoding: key, as: UTF8.self))")
            }
        }
    }
}
