internal import HTTPServer

/// The parts of a request that its decision reads.
struct RequestInput: Sendable {
    /// The id of the HTTP request.
    let id: String
    let body: [UInt8]
    let headers: HTTPHeaders
    /// The values of the path's `{name}` segments.
    let parameters: [String: String]
    /// The query parameters.
    let query: [(name: String, value: String)]

    init(_ request: HTTPRequest) {
        self.init(
            id: request.id, body: request.body, headers: request.headers, parameters: request.parameters,
            query: request.query)
    }

    init(
        id: String, body: [UInt8], headers: HTTPHeaders, parameters: [String: String] = [:],
        query: [(name: String, value: String)] = []
    ) {
        (self.id, self.body, self.headers) = (id, body, headers)
        (self.parameters, self.query) = (parameters, query)
    }
}
