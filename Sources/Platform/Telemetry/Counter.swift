internal import Synchronization

/// A count that only grows. Adding is one atomic instruction. Still, add once per batch.
package final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    init() {}

    package func add(_ amount: Int = 1) {
        precondition(amount >= 0, "a counter only grows")
        count.add(amount, ordering: .relaxed)
    }

    package var value: Int { count.load(ordering: .relaxed) }
}
