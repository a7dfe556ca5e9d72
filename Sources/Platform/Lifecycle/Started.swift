/// The started parts of a service. `start` puts them in, `stop` takes them out, and any thread may read them
/// in between.
package final class Started<Parts>: Sendable {
    private let held = TracedLock(Parts?.none)

    package init() {}

    /// Nil before the start and after the stop.
    package var parts: Parts? { held.withLock { $0 } }

    package func put(_ parts: Parts) { held.withLock { $0 = parts } }

    /// Removes and returns the parts. The caller must stop them.
    package func take() -> Parts? {
        held.withLock { held in
            defer { held = nil }
            return held
        }
    }
}
