internal import JSON

/// One problem of a request: the field, the rule, and the remedy. For example `groupId is missing; name the group`.
package struct RequestProblem: Sendable, Hashable, CustomStringConvertible {
    /// A stable code for programs.
    let code: String
    /// The path in the body, such as `audience.segments[0]`, or the name of a parameter or header. Empty for the whole
    /// request.
    let field: String
    /// The text that follows the field's name.
    let message: String
    /// Whether the request names something that this gateway's catalog lacks. Another gateway may have just
    /// created it, so `RequestProcessor` reads the catalog to its end and decides again.
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

    /// Writes the problem as an object of an answer.
    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.field("code", code)
        json.field("field", field.isEmpty ? nil : field)
        json.field("message", message)
        json.endObject()
    }
}
