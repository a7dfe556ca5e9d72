internal import Synchronization

/// A fact that one thread says and others look at: what was written before it was raised is seen by who sees it raised.
package final class Flag: Sendable {
    private let value = Atomic(false)

    package init() {}

    package var isRaised: Bool { value.load(ordering: .acquiring) }

    package func raise() { set(true) }

    package func set(_ isRaised: Bool) { value.store(isRaised, ordering: .releasing) }
}
