internal import HTTPServer
internal import JSON

/// One problem of a call's parameters.
struct ParameterProblem: Equatable {
    /// A stable code for programs.
    let code: String
    /// The name of the parameter.
    let field: String
    /// The text that follows the name.
    let message: String

    static func invalid(_ field: String, message: String) -> ParameterProblem {
        ParameterProblem(code: "invalid", field: field, message: message)
    }

    static func unknownField(_ field: String) -> ParameterProblem {
        ParameterProblem(code: "unknown_field", field: field, message: "is not a parameter of this call")
    }

    static func rangeTooLong(daysMax: Int64) -> ParameterProblem {
        ParameterProblem(
            code: "range_too_long", field: "from",
            message: "must be at most \(daysMax) days before to; ask for shorter ranges")
    }

    /// Returns the answer with all problems, of which there is at least one.
    static func response(to problems: [ParameterProblem]) -> HTTPResponse {
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.name("error")
        problems[0].write(to: &json)
        json.objects("problems", of: problems) { $0.writeMembers(to: &$1) }
        json.endObject()
        return .json(json.bytes, status: 422)
    }

    private func write(to json: inout JSONWriter) {
        json.beginObject()
        writeMembers(to: &json)
        json.endObject()
    }

    private func writeMembers(to json: inout JSONWriter) {
        json.field("code", code)
        json.field("message", "\(field) \(message)")
        json.field("field", field)
    }
}
