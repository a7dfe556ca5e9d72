internal import Synchronization

/// A flag that one thread raises and others read. A thread that sees it raised also sees all earlier writes
/// of the raising thread.
package final class AtomicFlag: Sendable {
    private let value = Atomic(false)

    package init() {}

    package var isRaised: Bool { value.load(ordering: .acquiring) }

    package func raise() { set(true) }

    package func set(_ isRaised: Bool) { value.store(isRaised, ordering: .releasing) }
}
