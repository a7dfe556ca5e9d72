internal import Glibc
internal import Lifecycle

/// Random numbers that are the same for the same seed (SplitMix64). Each rule has its own, so that a
/// rule that comes or goes changes nothing about what the others do.
struct Dice: RandomNumberGenerator, Sendable {
    private var numbers: SplitMix64

    init(seed: UInt64, stream: Int = 0) {
        // Streams start far from each other: at numbers of a generator of their own.
        let apart = UInt64(bitPattern: Int64(stream)) &* 0xD6E8_FEB8_6659_FD93
        numbers = SplitMix64(state: SplitMix64.mixed(SplitMix64.mixed(seed) &+ apart))
    }

    mutating func next() -> UInt64 { numbers.next() }

    /// From 0 to below 1.
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// True for this share of the calls.
    mutating func falls(within share: Double) -> Bool { unit() < share }

    /// From the normal distribution around 0 with deviation 1 (Box and Muller).
    mutating func normal() -> Double {
        let radius = sqrt(-2 * log(1 - unit()))
        return radius * cos(2 * .pi * unit())
    }

    /// From the exponential distribution with mean 1.
    mutating func exponential() -> Double { -log(1 - unit()) }
}
