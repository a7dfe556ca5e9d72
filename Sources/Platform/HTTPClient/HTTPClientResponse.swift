/// A server's answer to one request.
package struct HTTPClientResponse: Equatable, Sendable {
    package var status: Int
    /// Nil if the answer has no `Content-Length`, as with chunks. Such a body is not read, and the connection
    /// is closed.
    package var body: [UInt8]?

    package init(status: Int, body: [UInt8]?) {
        self.status = status
        self.body = body
    }
}
