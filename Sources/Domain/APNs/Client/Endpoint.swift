/// A host and its port.
package struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: Int

    package init(host: String, port: Int = 443) {
        self.host = host
        self.port = port
    }

    /// The form used in `:authority`.
    var authority: String { port == 443 ? host : description }
    package var description: String { "\(host):\(port)" }
}
