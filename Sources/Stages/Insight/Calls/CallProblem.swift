internal import HTTPServer

/// The reason that a call has no answer.
struct CallProblem: Error {
    let response: HTTPResponse

    static func invalid(_ field: String, _ message: String) -> CallProblem {
        CallProblem(response: .error(400, "invalid", message: message, field: field))
    }

    static func unknownField(_ field: String) -> CallProblem {
        CallProblem(
            response: .error(
                400, "unknown_field", message: "this call has no parameter \(field)", field: field))
    }

    static func tooLong(_ days: Int64) -> CallProblem {
        let message = "must be at most \(days) days before to; ask for shorter ranges"
        return CallProblem(response: .error(400, "range_too_long", message: message, field: "from"))
    }

    static let unknown = CallProblem(
        response: .error(
            404, "unknown",
            message: "nothing with this name is known; older data may have been forgotten"))

    /// - Parameter lanes: The lanes that do not answer.
    static func partial(_ lanes: [Int]) -> CallProblem {
        let names = lanes.map(String.init).joined(separator: ", ")
        let message = "lanes \(names) do not answer now and may hold the data; ask again"
        return CallProblem(response: .error(503, "insight_partial", message: message))
    }
}
