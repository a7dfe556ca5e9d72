internal import HTTPServer
internal import JSON
internal import LiveActivity

/// One thing that is wrong with a request: which field, which rule, and what to do.
package struct RequestProblem: Sendable, Hashable, CustomStringConvertible {
    /// Stable, for programs.
    let code: String
    /// The path in the body; empty for the request as a whole.
    let field: String
    /// Goes on after the field's name.
    let message: String
    /// The catalogue does not have what the field names: another gateway may have made it a moment ago.
    let isUnknown: Bool

    init(_ code: String, at field: String, _ message: String, isUnknown: Bool = false) {
        self.code = code
        self.field = field
        self.message = message
        self.isUnknown = isUnknown
    }

    init(_ problem: JSONProblem) { self.init(problem.code.rawValue, at: problem.path, problem.message) }

    package var description: String { field.isEmpty ? message : "\(field) \(message)" }
}

/// Everything that is wrong with a request, told at once.
package struct RefusedRequest: Error, Sendable, Equatable {
    let status: Int
    /// Never empty; the first stands in `error`.
    package let problems: [RequestProblem]

    init(_ problems: [RequestProblem], status: Int = 422) {
        precondition(!problems.isEmpty, "a refusal has a reason")
        self.status = status
        self.problems = problems
    }

    /// What is wrong with the document itself.
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

    /// Whether looking at the catalogue's end may make it good.
    var namesUnknown: Bool { problems.contains(where: \.isUnknown) }

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
