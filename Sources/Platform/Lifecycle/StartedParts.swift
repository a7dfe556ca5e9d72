/// The started parts of a service. `start` puts them in, `stop` takes them out, and any thread may read them
/// in between.
package final class StartedParts<Parts>: Sendable {
    private let lockedParts = TracedLock(Parts?.none)

    package init() {}

    /// Nil before the start and after the stop.
    package var parts: Parts? { lockedParts.withLock { $0 } }

    package func set(_ parts: Parts) { lockedParts.withLock { $0 = parts } }

    /// Removes and returns the parts. The caller must stop them.
    package func take() -> Parts? {
        lockedParts.withLock { held in
            defer { held = nil }
            return held
        }
    }
}
