package import IngestTesting
internal import JSON
internal import Kafka
internal import LiveActivity
internal import Topics

/// A check of the records that a scheduler has committed, independent of crashes: each order has one answer,
/// and each timer has one fate.
package struct SchedulerJudge {
    private enum Fate { case fired, expired, canceled, replaced }

    private struct Timer {
        var schedule: Schedule
        var order: ScheduleCommand
        var dueAt: Int64
        /// The position of its order.
        var place: (partition: Int32, offset: Int64)
    }

    private let reader = JSONReader()
    private var timers: [String: Timer] = [:]
    private var cancels: [(order: ScheduleCommand, stamp: Int64, place: (partition: Int32, offset: Int64))] =
        []
    private var requests: Set<String> = []
    private var answers: [String: ScheduleReply.Outcome] = [:]
    private var fates: [String: Fate] = [:]
    private var ends = EndJudge()
    /// The positions of records that are not orders, as topic, partition and offset.
    package private(set) var misfits: Set<String> = []
    package var fired: Int { fates.values.count { $0 == .fired } }
    package var canceled: Int { fates.values.count { $0 == .canceled } }
    package var replaced: Int { fates.values.count { $0 == .replaced } }
    /// The number of groups that ended at their end date.
    package var ended: Int { ends.fired }
    package private(set) var fault: String?

    package init(_ bed: IngestBed) throws {
        try readOrders(bed)
        try readEnds(bed)
        try readReplies(bed)
        try readProgress(bed)
        try readSends(bed)
        checkTimers()
        checkCancels()
        if let lost = ends.lost { fail(lost) }
        try checkRows(bed)
    }

    private mutating func fail(_ text: String) { fault = fault ?? text }

    private mutating func readOrders(_ bed: IngestBed) throws {
        for record in try TopicContent(.schedules, bed).records {
            let place = (record.partition, record.offset)
            let read = try? unsafe (record.value ?? []).withUnsafeBytes { bytes in
                try unsafe ScheduleRequest.decode(bytes, with: reader)
            }
            switch read {
            case nil: setAside(record, of: .schedules, bed)
            case .timeProbe: break
            case .command(let order):
                guard
                    Murmur2.partition(forKey: order.key.span, partitionCount: bed.layout.lanes)
                        == Int(record.partition)
                else {
                    setAside(record, of: .schedules, bed)
                    continue
                }
                if let replyTo = order.replyTo { requests.insert(replyTo.request) }
                switch order.action {
                case .schedule(let schedule):
                    timers[schedule.send.id] = Timer(
                        schedule: schedule, order: order,
                        dueAt: schedule.dueAt(recordTimestamp: record.timestamp),
                        place: place)
                case .cancel: cancels.append((order, record.timestamp, place))
                case .list: break
                }
            }
        }
    }

    private mutating func readEnds(_ bed: IngestBed) throws {
        for record in try TopicContent(.schedulesAuto, bed).records {
            guard let end = try? AutomaticEnd.decode(record.value ?? [], with: reader),
                Murmur2.partition(forKey: end.key.span, partitionCount: bed.layout.lanes)
                    == Int(record.partition)
            else {
                setAside(record, of: .schedulesAuto, bed)
                continue
            }
            ends.ask(end)
        }
    }

    private mutating func setAside(_ record: ReadRecord, of topic: TopicName, _ bed: IngestBed) {
        misfits.insert("\(bed.layout.name(of: topic))/\(record.partition)/\(record.offset)")
    }

    private mutating func readReplies(_ bed: IngestBed) throws {
        for record in try TopicContent(.replies, bed).records {
            let reply = try ScheduleReply.decode(record.value ?? [], with: reader)
            if answers.updateValue(reply.outcome, forKey: reply.request) != nil {
                fail("\(reply.request) has two answers")
            }
        }
        if Set(answers.keys) != requests {
            fail("\(requests.count) requests were made, \(answers.count) have answers")
        }
    }

    private mutating func meets(_ send: String, _ fate: Fate) {
        if let other = fates.updateValue(fate, forKey: send) {
            fail("\(send) is \(fate) and was already \(other)")
        }
    }

    private mutating func readProgress(_ bed: IngestBed) throws {
        for record in try TopicContent(.progress, bed).records {
            let progress = try ProgressRecord.decode(record.value ?? [], with: reader)
            guard case .planner(let part) = progress.part else { continue }
            switch part.verdict {
            case .cancelled: meets(progress.send, .canceled)
            case .superseded: meets(progress.send, .replaced)
            case .expired: meets(progress.send, .expired)
            default: fail("\(progress.send) has the unexpected verdict \(part.verdict)")
            }
        }
    }

    private mutating func readSends(_ bed: IngestBed) throws {
        for record in try TopicContent(.sendsTimed, bed).records {
            let send = try Send.decode(record.value ?? [], with: reader)
            let home = send.scopeKey.map {
                Murmur2.partition(forKey: $0.bytes.span, partitionCount: bed.layout.lanes)
            }
            if home != Int(record.partition) { fail("\(send.id) is in a partition other than its group's") }
            if let generation = send.generation {
                if let fault = ends.fires(send, of: generation, at: record.timestamp) { fail(fault) }
                continue
            }
            meets(send.id, .fired)
            guard let timer = timers[send.id] else {
                fail("\(send.id) was never scheduled")
                continue
            }
            if record.timestamp < timer.dueAt {
                fail("\(send.id) fires \(timer.dueAt - record.timestamp) ms early")
            }
            var promised = timer.schedule.send
            (promised.acceptedAt, promised.scheduledAt) = (timer.dueAt, send.scheduledAt)
            if send != promised { fail("\(send.id) differs from the scheduled send") }
        }
    }

    private mutating func checkTimers() {
        for (id, timer) in timers {
            guard let request = timer.order.replyTo?.request, let answer = answers[request] else { continue }
            switch answer {
            case .scheduled(let scheduled) where scheduled.send == id:
                if fates[id] == nil { fail("\(id) has no fate") }
                if scheduled.dueAt != timer.dueAt { fail("\(id) has another due time in its answer") }
                if fates[id] == .expired, timer.schedule.latenessMillisecondsMax > 0 { fail("\(id) expired") }
            case .scheduled, .conflict, .refused:
                if fates[id] != nil { fail("\(id) was not accepted but has a fate") }
            default: fail("\(id) has the wrong answer \(answer)")
            }
        }
    }

    private mutating func checkCancels() {
        var told = 0
        for cancel in cancels {
            guard case .cancel(let choice) = cancel.order.action else { continue }
            if let request = cancel.order.replyTo?.request, case .cancelled(let count, _) = answers[request] {
                told += count
            }
            for (id, timer) in timers where timer.place.partition == cancel.place.partition {
                guard timer.order.owner == cancel.order.owner, timer.place.offset < cancel.place.offset,
                    cancel.stamp <= timer.dueAt - 2000, means(choice, timer.schedule), fates[id] == .fired
                else { continue }
                fail("\(id) was cancelled in time but fires")
            }
        }
        if told != canceled {
            fail("\(told) timers are cancelled by the answers, but \(canceled) by the verdicts")
        }
    }

    private func means(_ choice: ScheduleCommand.TimerSelection, _ schedule: Schedule) -> Bool {
        switch choice {
        case .activity(let name): schedule.activity == name
        case .id(let id): schedule.id == id
        case .send(let id): schedule.send.id == id
        case .everything: true
        }
    }

    private mutating func checkRows(_ bed: IngestBed) throws {
        for key in try TopicContent(.timers, bed).newest.keys {
            if unsafe !key.withUnsafeBytes({ unsafe ScheduleIdempotencyRow.isKey($0) }) {
                fail("a timer remains: \(String(decoding: key, as: UTF8.self))")
            }
        }
    }
}
