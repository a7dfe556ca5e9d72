/// A host and its port, for example `api.push.apple.com:443`.
package struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: Int

    package init(host: String, port: Int = 443) {
        self.host = host
        self.port = port
    }

    /// The value of the HTTP/2 header `:authority`, without the default port.
    var authority: String { port == 443 ? host : description }
    package var description: String { "\(host):\(port)" }
}
