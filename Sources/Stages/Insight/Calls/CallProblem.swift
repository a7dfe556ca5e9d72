internal import HTTPServer

/// The reason that a call has no answer, as the error response that the gateway passes on.
struct CallProblem: Error {
    let response: HTTPResponse

    /// All problems of the parameters, at least one.
    static func parameters(_ problems: [ParameterProblem]) -> CallProblem {
        CallProblem(response: ParameterProblem.response(to: problems))
    }

    /// Nothing was found, and all lanes have answered.
    static let unknown = CallProblem(
        response: .error(
            status: 404, code: "unknown",
            message: "nothing with this name is known; older data may have been forgotten"))

    /// Nothing was found, or a file would be incomplete, because lanes do not answer.
    ///
    /// - Parameter lanes: The lanes that do not answer.
    static func partial(missing lanes: [Int]) -> CallProblem {
        let names = lanes.map(String.init).joined(separator: ", ")
        let message = "lanes \(names) do not answer now and may hold the data; ask again"
        return CallProblem(response: .error(status: 503, code: "insight_partial", message: message))
    }
}
