/// What a server answered.
package struct HTTPAnswer: Equatable, Sendable {
    package var status: Int
    /// Nil where its length was not announced: such a body is not read, and its connection not used again.
    package var body: [UInt8]?

    package init(status: Int, body: [UInt8]?) {
        self.status = status
        self.body = body
    }
}
