package import Lifecycle

/// A pool's request to open a connection, with the facts that decide its priority.
package struct ConnectRequest: Sendable {
    /// Whether the pool has no working connection.
    package var isForFirstConnection: Bool
    /// Number of consecutive failed connections.
    package var failures: Int
    /// Time at which the pool last opened a connection.
    package var lastConnectAt: Instant?

    package init(isForFirstConnection: Bool, failures: Int = 0, lastConnectAt: Instant? = nil) {
        self.isForFirstConnection = isForFirstConnection
        self.failures = failures
        self.lastConnectAt = lastConnectAt
    }
}
