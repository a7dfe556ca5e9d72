package import Lifecycle

/// A generator whose random numbers are equal for equal seeds on every machine, so that a test can repeat its run.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    @usableFromInline var numbers: SplitMix64

    package init(seed: some BinaryInteger) { numbers = SplitMix64(state: UInt64(truncatingIfNeeded: seed)) }

    @inlinable
    package mutating func next() -> UInt64 { numbers.next() }

    /// Returns a random number from zero to below the limit.
    package mutating func number(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

    /// Returns random bytes. Their number is random within `count`.
    package mutating func bytes(count: ClosedRange<Int>) -> [UInt8] {
        (0..<Int.random(in: count, using: &self)).map { _ in UInt8.random(in: .min ... .max, using: &self) }
    }
}
