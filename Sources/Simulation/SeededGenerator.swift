/// Random numbers that are the same for the same seed, on every machine: what a test did once it can
/// do again. SplitMix64: small, fast, and good enough for choosing; never for secrets.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    @usableFromInline var state: UInt64

    package init(seed: UInt64) { state = seed }

    @inlinable
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
