internal import Glibc
internal import Lifecycle

/// Random numbers that repeat for the same seed (SplitMix64). Each rule has its own stream, so that adding or
/// removing a rule does not affect the others.
struct Dice: RandomNumberGenerator, Sendable {
    private var numbers: SplitMix64

    init(seed: UInt64, stream: Int = 0) {
        // Starts each stream at a distant state of the generator.
        let apart = UInt64(bitPattern: Int64(stream)) &* 0xD6E8_FEB8_6659_FD93
        numbers = SplitMix64(state: SplitMix64.mixed(SplitMix64.mixed(seed) &+ apart))
    }

    mutating func next() -> UInt64 { numbers.next() }

    /// Returns a number from 0 to below 1.
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// Returns true for this share of the calls.
    mutating func falls(within share: Double) -> Bool { unit() < share }

    /// Returns a number from the standard normal distribution (Box and Muller).
    mutating func normal() -> Double {
        let radius = sqrt(-2 * log(1 - unit()))
        return radius * cos(2 * .pi * unit())
    }

    /// Returns a number from the exponential distribution with mean 1.
    mutating func exponential() -> Double { -log(1 - unit()) }
}
