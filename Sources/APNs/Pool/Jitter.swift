internal import Lifecycle

/// Random pauses, so that a fleet does not do the same thing at the same moment. Seeded: what a pool
/// did once it can do again. Never for secrets.
package struct Jitter: Sendable {
    private var numbers: SplitMix64

    package init(seed: UInt64) { numbers = SplitMix64(state: seed) }

    package mutating func milliseconds(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(numbers.next() % UInt64(range.upperBound - range.lowerBound + 1))
    }
}
