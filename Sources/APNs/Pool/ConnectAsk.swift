package import Lifecycle

/// A pool asks whether it may open a connection, and says what its claim rests on.
package struct ConnectAsk: Sendable {
    /// It has no connection that works.
    package var isFirst: Bool
    /// Connections in a row that came to nothing.
    package var failures: Int
    /// When it last opened one.
    package var lastAt: Instant?

    package init(isFirst: Bool, failures: Int = 0, lastAt: Instant? = nil) {
        self.isFirst = isFirst
        self.failures = failures
        self.lastAt = lastAt
    }
}
