internal import HTTPServer
internal import JSON

/// The refusal of a request, with all of its problems.
package struct RefusedRequest: Error, Sendable, Equatable {
    /// The HTTP status of the answer.
    let status: Int
    /// The problems, never empty.
    package let problems: [RequestProblem]

    init(_ problems: [RequestProblem], status: Int = 422) {
        precondition(!problems.isEmpty, "a refusal has a reason")
        self.status = status
        self.problems = problems
    }

    /// Makes the refusal of a body that could not be read.
    init(_ error: JSONError) {
        self.init(error.problems.map(RequestProblem.init), status: error.httpStatus)
    }

    /// Whether the request may succeed after the catalog is read to its end.
    var hasUnknownName: Bool { problems.contains(where: \.isUnknown) }

    /// The answer with all problems. Its `error` repeats the first one, for programs that read only `error`.
    var response: HTTPResponse {
        let firstProblem = problems[0]
        var json = JSONWriter(capacity: 1024)
        json.beginObject()
        json.name("error")
        json.beginObject()
        json.field("code", firstProblem.code)
        json.field("message", firstProblem.description)
        json.field("field", firstProblem.field.isEmpty ? nil : firstProblem.field)
        json.endObject()
        json.name("problems")
        json.beginArray()
        for problem in problems { problem.write(to: &json) }
        json.endArray()
        json.endObject()
        return .json(json.bytes, status: status)
    }
}

extension JSONError {
    /// The status of the answer to this body: 422 if it is JSON with wrong fields, 400 if it is not JSON.
    var httpStatus: Int {
        switch problems[0].code {
        case .wrongType, .missing, .unknownField, .outOfRange, .invalid: 422
        case .tooLarge: 413
        case .outOfMemory: 503
        default: 400
        }
    }
}
