internal import Glibc

/// Random numbers that are the same for the same seed (SplitMix64). Each rule has its own, so that a
/// rule that comes or goes changes nothing about what the others do.
struct Dice: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64, stream: Int = 0) {
        state = seed
        // Streams start far from each other: at numbers of a generator of their own.
        state = next() &+ UInt64(bitPattern: Int64(stream)) &* 0xD6E8_FEB8_6659_FD93
        state = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

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
