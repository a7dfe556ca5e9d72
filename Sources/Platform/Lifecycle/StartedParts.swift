/// The threads and clients that a service runs, as one value. The service sets it in `start` and takes it in
/// `stop`. Any thread may read it.
package final class StartedParts<Parts>: Sendable {
    private let lockedParts = TracedLock(Parts?.none)

    package init() {}

    /// Nil before the start and after the stop.
    package var parts: Parts? { lockedParts.withLock { $0 } }

    package func set(_ parts: Parts) { lockedParts.withLock { $0 = parts } }

    /// Removes and returns the parts. The caller must stop them.
    package func take() -> Parts? {
        lockedParts.withLock { parts in
            defer { parts = nil }
            return parts
        }
    }
}
