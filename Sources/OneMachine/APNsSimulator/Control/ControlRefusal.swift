internal import HTTPServer
internal import JSON

/// The refusal of a request by the control API. The thrown error becomes the answer.
struct ControlRefusal: Error {
    /// HTTP status.
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

    /// The answer in JSON. An empty list of problems is left out:
    ///
    ///     {"error": {"code": "bad_body", "message": "…",
    ///                "problems": [{"path": "rules[0].match", "code": "…", "message": "…"}]}}
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
