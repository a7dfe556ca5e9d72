internal import JSON

/// One problem of a request: the field, the rule, and the remedy.
package struct RequestProblem: Sendable, Hashable, CustomStringConvertible {
    /// A stable code for programs.
    let code: String
    /// The path in the body, or an empty string for the whole request.
    let field: String
    /// The text that follows the field's name.
    let message: String
    /// Whether the request names something that this gateway's catalog lacks. Another gateway may have just
    /// created it, so `RequestWorker` reads the catalog to its end and decides again.
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
