internal import Identifiers
package import JSON
package import Payloads
internal import RecordFormat
package import Sends

/// The reply of another stage to a gateway's request: a record of `replies`. The scheduler replies to a
/// `ScheduleCommand`, and the planner to a `Send` with a `ReplyAddress`.
package struct GatewayReply: JSONRecord, Hashable {
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

        package var position: TimerPosition { TimerPosition(dueAt: dueAt, id: id) }
    }

    package enum Outcome: Sendable, Hashable {
        case scheduled(ScheduledTimer)
        /// The number of cancelled timers. `tooLate` counts the timers that the cancel would have selected if they
        /// had not fired in the last minute.
        case cancelled(Int, tooLate: Int)
        /// The waiting timers, in the order in which they become due. `isComplete` is false if there are more.
        case listed([ListedTimer], isComplete: Bool)
        /// Another body was scheduled under the same idempotency key. The value is the id of the first request's send.
        /// It is empty in a reply of an earlier program.
        case conflict(send: String)
        /// The reason why the command cannot be carried out, in words for the caller.
        case refused(String)
        /// The planner's decision about a send.
        case verdict(PlannedVerdict)
    }

    /// The planner's decision about a send, and the version that it gave the send. The version is 0 if the send got none.
    package struct PlannedVerdict: Sendable, Hashable {
        package var verdict: ProgressRecord.PlannerVerdict
        package var version: Int64

        package init(_ verdict: ProgressRecord.PlannerVerdict, version: Int64) {
            self.verdict = verdict
            self.version = version
        }
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
        case .conflict(let send):
            writer.field("conflict", true)
            writer.field("firstSend", send.isEmpty ? nil : send)
        case .refused(let reason): writer.field("refused", reason)
        case .verdict(let planned):
            writer.field("verdict", planned.verdict.rawValue)
            writer.field("version", planned.version)
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
            outcome = .conflict(send: record["firstSend"].optional?.name() ?? "")
        } else if let reason = record["refused"].optional {
            outcome = .refused(reason.string())
        } else if let verdict = record["verdict"].optional {
            // `choice` reports an unknown verdict, so the record is rejected and `planned` is not used.
            outcome = .verdict(
                PlannedVerdict(
                    verdict.choice(of: ProgressRecord.PlannerVerdict.self) ?? .planned,
                    version: record["version"].version()))
        } else {
            outcome = .scheduled(ScheduledTimer(from: record))
        }
        self.init(request: record["request"].name(), outcome: outcome)
    }
}

// The timer's fields are members of a reply and of a `ScheduleIdempotencyRow`.
extension GatewayReply.ScheduledTimer {
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

extension GatewayReply.ListedTimer {
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
    fileprivate func listedTimers() -> [GatewayReply.ListedTimer] {
        objects(countMax: ScheduleCommand.listedTimersMax) { object in
            // `choice` reports an unknown event, so the record is rejected and `update` is not used.
            GatewayReply.ListedTimer(
                id: object["id"].name(), name: object["name"].optional?.name(),
                activity: object["activity"].optional?.name(), dueAt: object["dueAt"].timeMilliseconds(),
                send: object["send"].name(),
                event: object["event"].choice(of: PushEvent.self) ?? .update)
        }
    }
}
