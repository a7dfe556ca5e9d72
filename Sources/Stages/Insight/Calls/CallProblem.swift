internal import HTTPServer

/// The reason that a call has no answer.
struct CallProblem: Error {
    let response: HTTPResponse

    static func invalid(_ field: String, message: String) -> CallProblem {
        CallProblem(response: .error(status: 400, code: "invalid", message: message, field: field))
    }

    static func unknownField(_ field: String) -> CallProblem {
        CallProblem(
            response: .error(
                status: 400, code: "unknown_field", message: "this call has no parameter \(field)",
                field: field))
    }

    static func rangeTooLong(daysMax days: Int64) -> CallProblem {
        let message = "must be at most \(days) days before to; ask for shorter ranges"
        return CallProblem(
            response: .error(status: 400, code: "range_too_long", message: message, field: "from"))
    }

    static let unknown = CallProblem(
        response: .error(
            status: 404, code: "unknown",
            message: "nothing with this name is known; older data may have been forgotten"))

    /// - Parameter lanes: The lanes that do not answer.
    static func partial(missing lanes: [Int]) -> CallProblem {
        let names = lanes.map(String.init).joined(separator: ", ")
        let message = "lanes \(names) do not answer now and may hold the data; ask again"
        return CallProblem(response: .error(status: 503, code: "insight_partial", message: message))
    }
}
