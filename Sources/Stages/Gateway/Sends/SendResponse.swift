internal import HTTPServer
internal import JSON
internal import Schedules
internal import Sends

/// The answers to calls about sends, except the progress of a send (`SendProgress+Response.swift`).
enum SendResponse {
    /// Returns the answer to a send whose request waited for the planner.
    ///
    /// - Parameter reply: The planner's reply, or nil if it did not come in time.
    static func planned(
        _ send: Send, validated: SendValidator.ValidatedSend, reply: GatewayReply.Outcome?
    ) -> HTTPResponse {
        guard case .verdict(let planned) = reply else { return accepted(send, validated: validated) }
        switch planned.verdict {
        case .conflict: return RefusedRequest.idempotencyConflict(with: .send(send.id)).response
        case .newerState: return RefusedRequest.newerState(refusing: send).response
        default: return accepted(send, validated: validated, verdict: planned)
        }
    }

    /// Returns the answer to a send for later.
    static func later(
        _ send: Send, validated: SendValidator.ValidatedSend, outcome: TimedSendOutcome
    ) -> HTTPResponse {
        switch outcome {
        case .refused(let response): response
        case .scheduled(let timer):
            accepted(send, validated: validated) { $0.field("dueAt", timer.dueAt) }
        case .underWay: accepted(send, validated: validated) { $0.field("underWay", true) }
        }
    }

    /// Returns the answer to an accepted send.
    ///
    /// - Parameters:
    ///   - verdict: The planner's verdict, if the request waited for it.
    ///   - writeTimer: Writes the facts about the timer, if the send is for later.
    static func accepted(
        _ send: Send, validated: SendValidator.ValidatedSend, verdict: GatewayReply.PlannedVerdict? = nil,
        writeTimer: (inout JSONWriter) -> Void = { _ in }
    ) -> HTTPResponse {
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.field("sendId", send.id)
        json.field("acceptedAt", send.acceptedAt)
        json.field("verdict", verdict?.verdict.rawValue)
        json.field("version", verdict.flatMap { $0.version == 0 ? nil : $0.version })
        writeTimer(&json)
        json.field("bytes", validated.payloadByteCount)
        json.field("dryRun", send.isDryRun ? true : nil)
        writeWarnings(validated.warnings, to: &json)
        json.endObject()
        var response = HTTPResponse.json(json.bytes, status: 202)
        // A derived id does not name its time, without which a lookup has to search.
        let time = SendID.namesAcceptance(send.id) ? "" : "?at=\(send.acceptedAt)"
        response.headers.add("Location", value: "/v1/sends/\(send.id)\(time)")
        return response
    }

    /// Writes the member `warnings`, which is an empty array without warnings.
    static func writeWarnings(_ warnings: [RequestProblem], to json: inout JSONWriter) {
        json.name("warnings")
        json.beginArray()
        for warning in warnings { warning.write(to: &json) }
        json.endArray()
    }

    /// Returns the answer to an accepted cancel. The send's progress shows what the cancel stops.
    static func cancelling(_ id: SendID) -> HTTPResponse {
        var json = JSONWriter(capacity: 128)
        json.beginObject()
        json.field("sendId", id.text)
        json.field("cancelling", true)
        json.endObject()
        return .json(json.bytes, status: 202)
    }

    static let unknownSend = HTTPResponse.error(
        status: 404, code: "send_unknown",
        message:
            "this app has no such send in the last seven days; use an id that POST /v1/sends answered")

    /// The answer if the search stopped at its time limit, before it had read the whole topic.
    static let notFoundInTime: HTTPResponse = {
        var response = HTTPResponse.error(
            status: 503, code: "search_too_long",
            message:
                "the search for the send took too long; add ?at= with the acceptedAt of the send's answer"
        )
        response.headers.add("Retry-After", value: "5")
        return response
    }()
}
