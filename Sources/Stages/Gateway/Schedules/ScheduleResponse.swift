internal import HTTPServer
internal import JSON
internal import Payloads
internal import Schedules
internal import Sends

/// The answers to calls about schedules.
enum ScheduleResponse {
    static let idempotencyConflict = HTTPResponse.error(
        status: 409, code: "idempotency_conflict",
        message:
            "this Idempotency-Key was used with another body within 24 hours; use a new key for each request")

    /// The answer to a query that got no reply of the scheduler. Nothing was changed.
    static let schedulerSilent: HTTPResponse = {
        var response = HTTPResponse.error(
            status: 503, code: "scheduler_silent",
            message: "the scheduler has not answered within 2 s; try again")
        response.headers.add("Retry-After", value: "5")
        return response
    }()

    static func scheduled(
        _ send: Send, schedule: TimedSendDecider.RequestedSchedule,
        validated: SendValidator.ValidatedSend, outcome: TimedSendOutcome
    ) -> HTTPResponse {
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        switch outcome {
        case .refused(let response): return response
        case .scheduled(let scheduled):
            json.field("scheduleId", scheduled.id)
            json.field("scheduleName", schedule.name)
            json.field("sendId", scheduled.send)
            json.field("dueAt", scheduled.dueAt)
            json.field("replaced", scheduled.isReplacement)
        case .underWay:
            json.field("underWay", true)
            json.field("scheduleId", schedule.id ?? send.id)
            json.field("scheduleName", schedule.name)
            json.field("sendId", send.id)
        }
        json.field("bytes", validated.payloadByteCount)
        SendResponse.writeWarnings(validated.warnings, to: &json)
        json.endObject()
        if case .underWay = outcome { return .json(json.bytes, status: 202) }
        return .json(json.bytes)
    }

    static func cancelled(_ outcome: ScheduleReply.Outcome?) -> HTTPResponse {
        var json = JSONWriter(capacity: 128)
        json.beginObject()
        switch outcome {
        case .cancelled(let count, let tooLateCount):
            json.field("canceled", count)
            json.field("tooLate", tooLateCount == 0 ? nil : tooLateCount)
        case .refused(let reason): return .error(status: 422, code: "not_canceled", message: reason)
        case .scheduled, .listed, .conflict, nil: json.field("underWay", true)
        }
        json.endObject()
        if case .cancelled = outcome { return .json(json.bytes) }
        return .json(json.bytes, status: 202)
    }

    static func list(_ outcome: ScheduleReply.Outcome?) -> HTTPResponse {
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
        json.field("isComplete", isComplete)
        json.endObject()
        return .json(json.bytes)
    }
}
