package import Lifecycle

/// The state of a disk that is too full. All views wait, because they share the disk.
package struct DiskFullState: Sendable {
    package var retryAt: Instant
    /// The reason, for operators.
    package var reason: String

    package init(retryAt: Instant, reason: String) {
        self.retryAt = retryAt
        self.reason = reason
    }
}
