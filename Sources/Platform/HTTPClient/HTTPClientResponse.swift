/// The answer of a server.
package struct HTTPClientResponse: Equatable, Sendable {
    package var status: Int
    /// The body. Nil if its length was not announced. Such a body is not read, and its connection is not
    /// reused.
    package var body: [UInt8]?

    package init(status: Int, body: [UInt8]?) {
        self.status = status
        self.body = body
    }
}
