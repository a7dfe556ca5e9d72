/// One problem of a document: its path, a stable code for programs, and a message for people. The message
/// follows the path: "must be a string, not a number".
package struct JSONProblem: Sendable, Equatable {
    package enum Code: String, Sendable, CaseIterable {
        // The document is not strict JSON or exceeds a limit. It is refused at the first such problem.
        case empty
        case malformed
        case notUTF8 = "not_utf8"
        case tooLarge = "too_large"
        case tooDeep = "too_deep"
        case tooManyKeys = "too_many_keys"
        case duplicateKey = "duplicate_key"
        case numberOutOfRange = "number_out_of_range"
        case outOfMemory = "out_of_memory"
        // The document does not have the expected content.
        case missing
        case wrongType = "wrong_type"
        case unknownField = "unknown_field"
        case outOfRange = "out_of_range"
        case invalid
    }

    /// The dotted path from the root: `message.contentState`, `target.extIds[3]`. Empty for the document
    /// itself. Names with special characters are quoted in brackets: `tags["a b"]`.
    package let path: String
    package let code: Code
    package let message: String

    package init(path: String, code: Code, message: String) {
        self.path = path
        self.code = code
        self.message = message
    }
}

extension JSONProblem: CustomStringConvertible {
    package var description: String { "\(path.isEmpty ? "the document" : path) \(message)" }
}
