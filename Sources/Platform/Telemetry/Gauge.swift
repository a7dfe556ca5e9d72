internal import Synchronization

/// A value that goes up and down.
package final class Gauge: Sendable {
    /// The bit pattern of the value, because atomics hold integers.
    private let bits = Atomic<UInt64>(0)

    init() {}

    package func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    package func add(_ amount: Double) {
        var old = bits.load(ordering: .relaxed)
        while true {
            let new = (Double(bitPattern: old) + amount).bitPattern
            let result = bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if result.exchanged { return }
            old = result.original
        }
    }

    package var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }
}
