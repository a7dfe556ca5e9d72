internal import Glibc
internal import Lifecycle

/// Random numbers that repeat for the same seed (SplitMix64). Each rule has its own stream, so that adding or
/// removing a rule does not affect the others.
struct SeededRandom: RandomNumberGenerator, Sendable {
    /// Any large odd number would do.
    private static let streamFactor: UInt64 = 0xD6E8_FEB8_6659_FD93

    private var generator: SplitMix64

    init(seed: UInt64, stream: Int = 0) {
        // SplitMix64 only adds to its state, so streams with near states would overlap. A large odd factor and
        // a second mixing give each stream a distant state.
        let streamOffset = UInt64(bitPattern: Int64(stream)) &* Self.streamFactor
        let mixedSeed = SplitMix64.number(forState: seed)
        generator = SplitMix64(state: SplitMix64.number(forState: mixedSeed &+ streamOffset))
    }

    mutating func next() -> UInt64 { generator.next() }

    /// Returns a number from 0 to below 1, with the 53 bits that a `Double` has.
    mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// Returns true with this probability, from 0 to 1.
    mutating func happens(withProbability probability: Double) -> Bool { fraction() < probability }

    /// Returns a number from the standard normal distribution (Box and Muller).
    mutating func standardNormal() -> Double {
        let radius = sqrt(-2 * log(1 - fraction()))
        return radius * cos(2 * .pi * fraction())
    }

    /// Returns a number from the exponential distribution with mean 1.
    mutating func exponential() -> Double { -log(1 - fraction()) }
}
