internal import JSON

/// The answer to a request. The server adds `Content-Length`, `Date` and `Connection`.
package struct HTTPResponse: Sendable {
    package var status: Int
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// Whether the connection closes after this answer.
    package var closesConnection = false

    package init(status: Int = 200, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        precondition((200...599).contains(status), "a response needs a final status")
        self.status = status
        self.headers = headers
        self.body = body
    }

    package static func json(_ body: [UInt8], status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, headers: ["Content-Type": "application/json"], body: body)
    }

    package static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: Array(text.utf8))
    }

    /// Returns an error as `{"error":{"code":…,"message":…},"problems":[…]}`, with the error as the only problem. The code
    /// is stable and for programs; the message has the remedy. The field, if present, is the path of the wrong value in
    /// the body, or the name of a parameter.
    package static func error(
        status: Int, code: String, message: String, field: String? = nil
    ) -> HTTPResponse {
        var json = JSONWriter(capacity: 256)
        json.beginObject()
        json.name("error")
        writeProblem(to: &json, code: code, message: message, field: field ?? "")
        json.name("problems")
        json.beginArray()
        writeProblem(to: &json, code: code, message: message, field: field ?? "")
        json.endArray()
        json.endObject()
        return .json(json.bytes, status: status)
    }

    private static func writeProblem(
        to json: inout JSONWriter, code: String, message: String, field: String
    ) {
        json.beginObject()
        json.name("code")
        json.value(code)
        json.name("message")
        json.value(message)
        if !field.isEmpty {
            json.name("field")
            json.value(field)
        }
        json.endObject()
    }
}
