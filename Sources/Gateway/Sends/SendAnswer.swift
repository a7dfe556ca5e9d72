internal import HTTPServer
internal import JSON
internal import LiveActivity

/// What is answered about sends.
enum SendAnswer {
    /// - Parameter later: of a send for later, what the scheduler says.
    static func accepted(
        _ send: Send, _ judged: SendJudge.Judged, later: TimedOutcome? = nil
    ) -> HTTPResponse {
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.field("sendId", send.id)
        json.field("acceptedAt", send.acceptedAt)
        switch later {
        case nil: break
        case .refused(let response): return response
        case .scheduled(let scheduled): json.field("dueAt", scheduled.dueAt)
        case .underWay: json.field("underWay", true)
        }
        json.field("bytes", judged.bytes)
        json.field("dryRun", send.dryRun ? true : nil)
        write(judged.warnings, to: &json)
        json.endObject()
        var response = HTTPResponse.json(json.bytes, status: 202)
        response.headers.add("Location", "/v1/sends/\(send.id)")
        return response
    }

    static func write(_ warnings: [RequestProblem], to json: inout JSONWriter) {
        json.name("warnings")
        json.beginArray()
        for warning in warnings {
            json.beginObject()
            json.field("code", warning.code)
            json.field("field", warning.field)
            json.field("message", warning.message)
            json.endObject()
        }
        json.endArray()
    }

    static func cancelling(_ id: SendID) -> HTTPResponse {
        var json = JSONWriter(capacity: 128)
        json.beginObject()
        json.field("sendId", id.text)
        json.field("cancelling", true)
        json.endObject()
        return .json(json.bytes, status: 202)
    }

    static let unknown = HTTPResponse.error(
        404, "send_unknown",
        message:
            "there is no such send of this app in the last seven days; ids are what POST /v1/sends answers")

    /// The topic is longer than can be read for one question.
    static let notFoundInTime: HTTPResponse = {
        var response = HTTPResponse.error(
            503, "search_too_long",
            message:
                "the send was not found in the time for one question; add ?at= with the acceptedAt of its answer"
        )
        response.headers.add("Retry-After", "5")
        return response
    }()
}
