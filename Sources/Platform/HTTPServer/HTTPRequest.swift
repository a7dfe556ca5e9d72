/// One request as a handler receives it.
package struct HTTPRequest: Sendable {
    package let method: HTTPMethod
    /// The path as sent, without the query.
    package let path: String
    /// The decoded values of the route's `{name}` segments.
    package internal(set) var parameters: [String: String] = [:]
    /// The decoded fields of the query, in order. For example, `a=1&b` has the fields a with 1 and b with an
    /// empty value.
    package let query: [(name: String, value: String)]
    package let headers: HTTPHeaders
    package internal(set) var body: [UInt8] = []
    /// The peer's address without the port.
    package let peer: String
    /// The id in the answer's header `X-Request-Id`: the client's id if it is valid, otherwise a random one.
    package internal(set) var id = RequestID.random()

    /// Returns the first query field of this name.
    package func query(named name: String) -> String? { query.first { $0.name == name }?.value }

    /// Whether the client can read an answer that is compressed with gzip.
    package var acceptsGzip: Bool {
        headers.all(named: "accept-encoding").joined(separator: ",").split(separator: ",").contains {
            coding in
            let parts = coding.split(separator: ";").map { $0.filter { $0 != " " }.lowercased() }
            // The quality 0 refuses a coding. It may have up to three decimals.
            let isRefused = parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
            return parts.first == "gzip" && !isRefused
        }
    }
}
