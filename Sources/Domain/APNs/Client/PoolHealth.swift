/// A summary of one app's pool for pushes.
package struct PoolHealth: Sendable, Hashable {
    /// Whether an open connection exists on which APNs has accepted the provider token.
    package let isWorking: Bool
    /// Number of open connections.
    package let connections: Int
    /// The reason why the last connection failed. Nil once a connection works.
    package let lastFailure: String?
}
