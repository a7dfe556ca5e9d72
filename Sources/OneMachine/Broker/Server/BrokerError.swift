/// The reason why a broker does not start.
package enum BrokerError: Error, Equatable, CustomStringConvertible {
    /// The host is not loopback, and the settings do not allow that.
    case remoteAddress(String)
    case noTemporaryDirectory(String)
    /// The event loop ended during the start.
    case loopEnded

    package var description: String {
        switch self {
        case .remoteAddress(let host):
            """
            cannot listen on \(host): the broker has no TLS and no users; allow it with --allow-remote on a \
            network where you trust every host
            """
        case .noTemporaryDirectory(let path):
            "cannot make a temporary directory \(path): check that the place exists and is writable"
        case .loopEnded: "event loop of the broker ended while it started; start again"
        }
    }
}
