internal import HTTPServer
internal import JSON

/// Why the control API does not do what it was asked: the answer.
struct ControlRefusal: Error {
    let status: Int
    let code: String
    let message: String
    /// What is wrong with the request's body, all of it.
    var problems: [JSONProblem] = []

    init(_ status: Int, _ code: String, message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    init(_ error: JSONError) {
        self.init(400, "bad_body", message: error.description)
        problems = error.problems
    }

    static let stopping = ControlRefusal(503, "stopping", message: "the simulator is stopping")

    /// As `HTTPResponse.error`, with the problems beside the message.
    var response: HTTPResponse {
        if problems.isEmpty { return .error(status, code, message: message) }
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
    /// An answer with one object.
    static func object(status: Int = 200, _ fields: (inout JSONWriter) -> Void) -> HTTPResponse {
        var json = JSONWriter()
        json.beginObject()
        fields(&json)
        json.endObject()
        return .json(json.bytes, status: status)
    }
}
