package import Lifecycle

/// The state of a disk that is too full to write a file. All files of a loop wait, because they share the disk.
package struct DiskFullState: Sendable {
    /// The time at which the disk is tried again.
    package var retryAt: Instant
    /// The reason, for operators.
    package var reason: String

    package init(retryAt: Instant, reason: String) {
        self.retryAt = retryAt
        self.reason = reason
    }
}
