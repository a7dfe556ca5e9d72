internal import Lifecycle

/// A generator of random pauses, so that the processes of a fleet do not act at the same moment. It is seeded, so
/// a test can be repeated. Do not use it for secrets.
package struct Jitter: Sendable {
    private var numbers: SplitMix64

    package init(seed: UInt64) { numbers = SplitMix64(state: seed) }

    package mutating func milliseconds(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(numbers.next() % UInt64(range.upperBound - range.lowerBound + 1))
    }
}
