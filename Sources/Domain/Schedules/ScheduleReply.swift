internal import Identifiers
package import JSON
package import Payloads
internal import RecordFormat

/// The scheduler's reply to a `ScheduleCommand`: a record of `replies`, for the gateway that waits for it.
package struct ScheduleReply: JSONRecord, Hashable {
    package static let schemaVersion = 1

    /// The timer that a schedule created.
    package struct ScheduledTimer: Sendable, Hashable {
        /// The schedule's id.
        package var id: String
        /// The time at which the send is due, in milliseconds since 1970.
        package var dueAt: Int64
        /// The send's id.
        package var send: String
        /// Whether the schedule replaced a waiting timer with the same id.
        package var isReplacement: Bool

        package init(id: String, dueAt: Int64, send: String, isReplacement: Bool) {
            self.id = id
            self.dueAt = dueAt
            self.send = send
            self.isReplacement = isReplacement
        }
    }

    /// A waiting timer in a list.
    package struct ListedTimer: Sendable, Hashable {
        package var id: String
        package var name: String?
        package var activity: String?
        /// The time at which the send is due, in milliseconds since 1970.
        package var dueAt: Int64
        /// The send's id.
        package var send: String
        package var event: PushEvent

        package init(
            id: String, name: String?, activity: String?, dueAt: Int64, send: String, event: PushEvent
        ) {
            self.id = id
            self.name = name
            self.activity = activity
            self.dueAt = dueAt
            self.send = send
            self.event = event
        }
    }

    package enum Outcome: Sendable, Hashable {
        case scheduled(ScheduledTimer)
        /// The number of cancelled timers. `tooLate` counts the timers that the cancel would have selected if they
        /// had not fired in the last minute.
        case cancelled(Int, tooLate: Int)
        /// The waiting timers, in the order in which they become due. `isComplete` is false if there are more.
        case listed([ListedTimer], isComplete: Bool)
        /// Another body was sent under the same idempotency key.
        case conflict
        /// The reason why the command cannot be carried out, in words for the caller.
        case refused(String)
    }

    /// The request's id, as its gateway chose it.
    package var request: String
    package var outcome: Outcome

    package init(request: String, outcome: Outcome) {
        self.request = request
        self.outcome = outcome
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("request", request)
        switch outcome {
        case .scheduled(let scheduled): scheduled.write(to: &writer)
        case .cancelled(let count, let tooLate):
            // The record has the American spelling.
            writer.field("canceled", count)
            writer.field("tooLate", tooLate)
        case .listed(let timers, let isComplete):
            writer.name("timers")
            writer.beginArray()
            for timer in timers { timer.write(to: &writer) }
            writer.endArray()
            writer.field("isComplete", isComplete)
        case .conflict: writer.field("conflict", true)
        case .refused(let reason): writer.field("refused", reason)
        }
    }

    /// The record has no field for the kind of the outcome. The first field that only one outcome writes shows it,
    /// and a record without any of them is `scheduled`.
    package init(from record: JSONObject) {
        let outcome: Outcome
        if let count = record["canceled"].optional {
            outcome = .cancelled(
                count.int(in: 0...Int.max), tooLate: record["tooLate"].int(in: 0...Int.max))
        } else if let timers = record["timers"].optional {
            outcome = .listed(timers.listedTimers(), isComplete: record["isComplete"].bool())
        } else if record["conflict"].optional?.bool() == true {
            outcome = .conflict
        } else if let reason = record["refused"].optional {
            outcome = .refused(reason.string())
        } else {
            outcome = .scheduled(ScheduledTimer(from: record))
        }
        self.init(request: record["request"].name(), outcome: outcome)
    }
}

// The timer's fields are members of a reply and of a `ScheduleIdempotencyRow`.
extension ScheduleReply.ScheduledTimer {
    func write(to writer: inout JSONWriter) {
        writer.field("id", id)
        writer.field("dueAt", dueAt)
        writer.field("send", send)
        writer.field("replaced", isReplacement)
    }

    init(from record: JSONObject) {
        self.init(
            id: record["id"].name(), dueAt: record["dueAt"].timeMilliseconds(), send: record["send"].name(),
            isReplacement: record["replaced"].bool())
    }
}

extension ScheduleReply.ListedTimer {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.field("id", id)
        writer.field("name", name)
        writer.field("activity", activity)
        writer.field("dueAt", dueAt)
        writer.field("send", send)
        writer.field("event", event.rawValue)
        writer.endObject()
    }
}

extension JSONValue {
    fileprivate func listedTimers() -> [ScheduleReply.ListedTimer] {
        objects(countMax: ScheduleCommand.listedTimersMax) { object in
            // `choice` reports an unknown event, so the record is rejected and `update` is not used.
            ScheduleReply.ListedTimer(
                id: object["id"].name(), name: object["name"].optional?.name(),
                activity: object["activity"].optional?.name(), dueAt: object["dueAt"].timeMilliseconds(),
                send: object["send"].name(),
                event: object["event"].choice(of: PushEvent.self) ?? .update)
        }
    }
}
