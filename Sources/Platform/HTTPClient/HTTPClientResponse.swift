/// A server's answer to one request.
package struct HTTPClientResponse: Equatable, Sendable {
    package var status: Int
    /// Nil if the answer has no `Content-Length`, as with chunks, or if its body is longer than the limit of
    /// a parser that ignores long bodies. Such a body is not read, and the connection is closed.
    package var body: [UInt8]?
    /// The seconds of `Retry-After`. Nil if the header is missing or is a date.
    package var retryAfterSeconds: Int?

    package init(status: Int, body: [UInt8]?, retryAfterSeconds: Int? = nil) {
        self.status = status
        self.body = body
        self.retryAfterSeconds = retryAfterSeconds
    }
}
