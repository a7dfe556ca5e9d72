/// The headers that follow from an answer's status: the request's id on every answer, headers about the caller's limits on
/// 2xx and 429, and `Retry-After` on 429 and 503.
struct HTTPConventions: Sendable {
    /// The seconds of `Retry-After`, if the handler gives none.
    static let retrySeconds = 5

    let requestID: String
    /// Headers such as `RateLimit`.
    var limitHeaders: HTTPHeaders = [:]

    func apply(to response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.headers.add(RequestID.headerName, value: requestID)
        if response.status < 300 || response.status == 429 {
            response.headers = response.headers.adding(limitHeaders)
        }
        if response.status == 429 || response.status == 503, response.headers["retry-after"] == nil {
            response.headers.add("Retry-After", value: "\(Self.retrySeconds)")
        }
        return response
    }
}
