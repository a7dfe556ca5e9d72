internal import HTTPServer
internal import JSON
internal import Payloads
internal import Schedules
internal import Sends

/// The answers to calls about schedules. 200 says that the scheduler has carried out the command. 202 says that the
/// command is stored, and that the scheduler has not replied in time (`underWay`).
enum ScheduleResponse {
    /// The answer to a query that got no reply of the scheduler. Nothing was changed.
    static let schedulerSilent: HTTPResponse = {
        var response = HTTPResponse.error(
            status: 503, code: "scheduler_silent",
            message: "the scheduler has not answered within 2 s; try again")
        response.headers.add("Retry-After", value: "5")
        return response
    }()

    /// Returns the answer to a request to schedule.
    static func scheduled(
        _ send: Send, schedule: TimedSendDecider.RequestedSchedule,
        validated: SendValidator.ValidatedSend, outcome: TimedSendOutcome
    ) -> HTTPResponse {
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        let status: Int
        switch outcome {
        case .refused(let response): return response
        case .scheduled(let scheduled):
            status = 200
            json.field("scheduleId", scheduled.id)
            json.field("scheduleName", schedule.name)
            json.field("sendId", scheduled.send)
            json.field("dueAt", scheduled.dueAt)
            json.field("replaced", scheduled.isReplacement)
        case .underWay:
            status = 202
            json.field("underWay", true)
            json.field("scheduleId", schedule.id ?? send.id)
            json.field("scheduleName", schedule.name)
            json.field("sendId", send.id)
        }
        json.field("bytes", validated.payloadByteCount)
        SendResponse.writeWarnings(validated.warnings, to: &json)
        json.endObject()
        return .json(json.bytes, status: status)
    }

    /// Returns the answer to a cancel.
    ///
    /// - Parameter outcome: The scheduler's reply, or nil if it did not reply in time.
    static func cancelled(_ outcome: GatewayReply.Outcome?) -> HTTPResponse {
        var json = JSONWriter(capacity: 128)
        json.beginObject()
        let status: Int
        switch outcome {
        case .refused(let reason): return .error(status: 422, code: "not_canceled", message: reason)
        case .cancelled(let count, let tooLateCount):
            status = 200
            json.field("canceled", count)
            json.field("tooLate", tooLateCount == 0 ? nil : tooLateCount)
        // Only nil occurs here. The other outcomes are replies to other requests.
        case .scheduled, .listed, .conflict, .verdict, nil:
            status = 202
            json.field("underWay", true)
        }
        json.endObject()
        return .json(json.bytes, status: status)
    }

    /// Returns the list of the waiting schedules.
    ///
    /// - Parameter outcome: The scheduler's reply, or nil if it did not reply in time.
    static func list(_ outcome: GatewayReply.Outcome?) -> HTTPResponse {
        guard case .listed(let timers, let isComplete) = outcome else { return schedulerSilent }
        var json = JSONWriter(capacity: 4096)
        json.beginObject()
        json.name("items")
        json.beginArray()
        for timer in timers {
            json.beginObject()
            json.field("scheduleId", timer.id)
            json.field("scheduleName", timer.name)
            json.field("activity", timer.activity)
            json.field("event", timer.event.rawValue)
            json.field("dueAt", timer.dueAt)
            json.field("sendId", timer.send)
            json.endObject()
        }
        json.endArray()
        json.field("next", isComplete ? nil : timers.last?.position.cursor)
        json.endObject()
        return .json(json.bytes)
    }
}
