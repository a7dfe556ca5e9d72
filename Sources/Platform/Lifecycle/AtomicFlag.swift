internal import Synchronization

/// A Boolean that one thread sets and other threads read, without a lock. A thread that reads true also sees
/// all that the other thread wrote before.
package final class AtomicFlag: Sendable {
    private let value = Atomic(false)

    package init() {}

    package var isRaised: Bool { value.load(ordering: .acquiring) }

    package func raise() { set(true) }

    package func set(_ isRaised: Bool) { value.store(isRaised, ordering: .releasing) }
}
