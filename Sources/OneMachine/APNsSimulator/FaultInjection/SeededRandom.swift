internal import Glibc
internal import Lifecycle

/// Random numbers that repeat for the same seed (SplitMix64). Each rule has its own stream, so that adding or
/// removing a rule does not affect the others.
struct SeededRandom: RandomNumberGenerator, Sendable {
    private var generator: SplitMix64

    init(seed: UInt64, stream: Int = 0) {
        // The odd factor and the second mixing start each stream at a distant state of the generator.
        let streamOffset = UInt64(bitPattern: Int64(stream)) &* 0xD6E8_FEB8_6659_FD93
        let mixedSeed = SplitMix64.number(forState: seed)
        generator = SplitMix64(state: SplitMix64.number(forState: mixedSeed &+ streamOffset))
    }

    mutating func next() -> UInt64 { generator.next() }

    /// Returns a number from 0 to below 1, with the 53 bits that a `Double` has.
    mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// Returns true for this share of the calls.
    mutating func happens(withProbability share: Double) -> Bool { fraction() < share }

    /// Returns a number from the standard normal distribution (Box and Muller).
    mutating func standardNormal() -> Double {
        let radius = sqrt(-2 * log(1 - fraction()))
        return radius * cos(2 * .pi * fraction())
    }

    /// Returns a number from the exponential distribution with mean 1.
    mutating func exponential() -> Double { -log(1 - fraction()) }
}
