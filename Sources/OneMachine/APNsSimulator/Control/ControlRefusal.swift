internal import HTTPServer
internal import JSON

/// A refusal by the control API, which becomes the answer.
struct ControlRefusal: Error {
    let status: Int
    let code: String
    let message: String
    /// All problems of the request's body.
    var problems: [JSONProblem] = []

    init(status: Int, code: String, message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    init(_ error: JSONError) {
        self.init(status: 400, code: "bad_body", message: error.description)
        problems = error.problems
    }

    static let stopping = ControlRefusal(status: 503, code: "stopping", message: "the simulator is stopping")

    /// The answer: like `HTTPResponse.error`, with the problems in addition to the message.
    var response: HTTPResponse {
        if problems.isEmpty { return .error(status: status, code: code, message: message) }
        var json = JSONWriter()
        json.beginObject()
        json.object("error") { json in
            json.field("code", code)
            json.field("message", message)
            json.name("problems")
            json.beginArray()
            for problem in problems {
                json.beginObject()
                json.field("path", problem.path)
                json.field("code", problem.code.rawValue)
                json.field("message", problem.message)
                json.endObject()
            }
            json.endArray()
        }
        json.endObject()
        return .json(json.bytes, status: status)
    }
}

extension HTTPResponse {
    /// Returns an answer with one JSON object.
    static func object(status: Int = 200, fields: (inout JSONWriter) -> Void) -> HTTPResponse {
        var json = JSONWriter()
        json.beginObject()
        fields(&json)
        json.endObject()
        return .json(json.bytes, status: status)
    }
}
