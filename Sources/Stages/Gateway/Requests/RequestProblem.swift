internal import HTTPServer
internal import JSON
internal import LiveActivity

/// One problem of a request: the field, the rule, and the remedy.
package struct RequestProblem: Sendable, Hashable, CustomStringConvertible {
    /// A stable code for programs.
    let code: String
    /// The path in the body, or an empty string for the whole request.
    let field: String
    /// The text that follows the field's name.
    let message: String
    /// Whether the catalog lacks the named thing. Another gateway may have just created it.
    let isUnknown: Bool

    init(code: String, at field: String, message: String, isUnknown: Bool = false) {
        self.code = code
        self.field = field
        self.message = message
        self.isUnknown = isUnknown
    }

    init(_ problem: JSONProblem) {
        self.init(code: problem.code.rawValue, at: problem.path, message: problem.message)
    }

    package var description: String { field.isEmpty ? message : "\(field) \(message)" }
}

/// All problems of a refused request.
package struct RefusedRequest: Error, Sendable, Equatable {
    let status: Int
    /// The problems, never empty. The first one also appears in `error`.
    package let problems: [RequestProblem]

    init(_ problems: [RequestProblem], status: Int = 422) {
        precondition(!problems.isEmpty, "a refusal has a reason")
        self.status = status
        self.problems = problems
    }

    /// Wraps the problems of the JSON document.
    init(_ error: JSONError) {
        let status =
            switch error.problems[0].code {
            case .wrongType, .missing, .unknownField, .outOfRange, .invalid: 422
            case .tooLarge: 413
            case .outOfMemory: 503
            default: 400
            }
        self.init(error.problems.map(RequestProblem.init), status: status)
    }

    /// Whether the request may succeed after the catalog is read to its end.
    var hasUnknownName: Bool { problems.contains(where: \.isUnknown) }

    var response: HTTPResponse {
        var json = JSONWriter(capacity: 1024)
        json.beginObject()
        json.name("error")
        json.beginObject()
        json.field("code", problems[0].code)
        json.field("message", problems[0].description)
        json.field("field", problems[0].field.isEmpty ? nil : problems[0].field)
        json.endObject()
        json.name("problems")
        json.beginArray()
        for problem in problems {
            json.beginObject()
            json.field("code", problem.code)
            json.field("field", problem.field)
            json.field("message", problem.message)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return .json(json.bytes, status: status)
    }
}
