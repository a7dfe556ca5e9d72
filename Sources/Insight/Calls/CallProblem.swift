internal import HTTPServer

/// Why a call has no answer.
struct CallProblem: Error {
    let response: HTTPResponse

    static func invalid(_ field: String, _ message: String) -> CallProblem {
        CallProblem(response: .error(400, "invalid", message: message, field: field))
    }

    static func unknownField(_ field: String) -> CallProblem {
        CallProblem(
            response: .error(
                400, "unknown_field", message: "there is no parameter \(field) here", field: field))
    }

    static func tooLong(_ days: Int64) -> CallProblem {
        let message = "must be at most \(days) days before to; ask for one part after the other"
        return CallProblem(response: .error(400, "range_too_long", message: message, field: "from"))
    }

    static let unknown = CallProblem(
        response: .error(
            404, "unknown",
            message: "nothing of that name is known here; what is older may have been forgotten"))

    /// - Parameter lanes: those that do not answer.
    static func partial(_ lanes: [Int]) -> CallProblem {
        let names = lanes.map(String.init).joined(separator: ", ")
        let message = "nobody answers for lanes \(names) now, and what is asked for may lie there; ask again"
        return CallProblem(response: .error(503, "insight_partial", message: message))
    }
}
