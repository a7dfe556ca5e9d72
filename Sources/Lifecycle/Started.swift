/// What a service has started: `start` puts it in, `stop` takes it out, and anybody may look meanwhile.
package final class Started<Parts>: Sendable {
    private let held = TracedLock(Parts?.none)

    package init() {}

    /// Nil before the start and after the stop.
    package var parts: Parts? { held.withLock { $0 } }

    package func put(_ parts: Parts) { held.withLock { $0 = parts } }

    /// They are the caller's to stop, and nobody finds them here any more.
    package func take() -> Parts? {
        held.withLock { held in
            defer { held = nil }
            return held
        }
    }
}
