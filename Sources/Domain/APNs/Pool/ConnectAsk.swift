package import Lifecycle

/// A pool's request to open a connection, with the facts that decide its priority.
package struct ConnectAsk: Sendable {
    /// Whether the pool has no working connection.
    package var isFirst: Bool
    /// Number of consecutive failed connections.
    package var failures: Int
    /// Time at which the pool last opened a connection.
    package var lastAt: Instant?

    package init(isFirst: Bool, failures: Int = 0, lastAt: Instant? = nil) {
        self.isFirst = isFirst
        self.failures = failures
        self.lastAt = lastAt
    }
}
