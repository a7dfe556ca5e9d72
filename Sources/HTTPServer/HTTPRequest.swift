/// One request, complete with its body.
package struct HTTPRequest: Sendable {
    package let method: HTTPMethod
    /// The path as it was sent, without the query.
    package let path: String
    /// What the route's `{name}` segments matched, decoded.
    package internal(set) var parameters: [String: String] = [:]
    /// The query's fields in order, decoded.
    package let query: [(name: String, value: String)]
    package let headers: HTTPHeaders
    package internal(set) var body: [UInt8] = []
    /// The address at the other end of the connection, without the port.
    package let peer: String

    /// The first query field of this name.
    package func query(_ name: String) -> String? { query.first { $0.name == name }?.value }
}
