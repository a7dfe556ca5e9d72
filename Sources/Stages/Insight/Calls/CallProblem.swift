internal import HTTPServer

/// The reason that a call has no answer, as the error response that the gateway passes on.
struct CallProblem: Error {
    let response: HTTPResponse

    /// All problems of the parameters, at least one.
    static func parameters(_ problems: [ParameterProblem]) -> CallProblem {
        CallProblem(response: ParameterProblem.response(to: problems))
    }

    /// A limit ended the query (`QueryLimits`). The gateway adds `Retry-After` to 429 and 503.
    static func limited(_ limit: QueryLimit) -> CallProblem {
        switch limit {
        case .time:
            error(
                503, code: "question_too_slow",
                message: "the question was ended after a second; ask for a shorter range, or again later")
        case .size:
            error(
                422, code: "too_large",
                message:
                    "one hour has more groups or users than an answer can list; ask with group or user, or leave them out of split"
            )
        case .waiting:
            error(
                429, code: "too_many_questions",
                message: "too many questions of this key wait; ask again when some are answered")
        }
    }

    /// Nothing was found, and all lanes have answered.
    static let unknown = error(
        404, code: "unknown", message: "nothing with this name is known; older data may have been forgotten")

    /// Nothing was found, or a file would be incomplete, because lanes do not answer.
    ///
    /// - Parameter lanes: The lanes that do not answer.
    static func partial(missing lanes: [Int]) -> CallProblem {
        let names = lanes.map(String.init).joined(separator: ", ")
        return error(
            503, code: "insight_partial",
            message: "lanes \(names) do not answer now and may hold the data; ask again")
    }

    private static func error(_ status: Int, code: String, message: String) -> CallProblem {
        CallProblem(response: .error(status: status, code: code, message: message))
    }
}
