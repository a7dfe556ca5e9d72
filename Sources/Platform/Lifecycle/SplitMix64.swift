/// The pseudo-random generator SplitMix64 (Steele, Lea and Flood, 2014). Equal states give equal numbers on
/// every machine. It is small, fast, and good enough for choices. It must never be used for secrets.
@usableFromInline package struct SplitMix64: RandomNumberGenerator, Sendable {
    @usableFromInline var state: UInt64

    @inlinable
    package init(state: UInt64) { self.state = state }

    @inlinable
    package mutating func next() -> UInt64 {
        let number = SplitMix64.number(forState: state)
        state &+= 0x9E37_79B9_7F4A_7C15
        return number
    }

    /// Returns the first number of a generator with this state.
    @inlinable
    package static func number(forState state: UInt64) -> UInt64 {
        var z = state &+ 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
