import Lifecycle

/// A seeded generator of random numbers and damage. The same seed gives the same results on each machine.
struct Dice: RandomNumberGenerator {
    private var numbers: SplitMix64

    /// Begins one step of the generator later, so that the seed 0 does not begin with the state 0.
    init(seed: UInt64) { numbers = SplitMix64(state: seed &+ 0x9E37_79B9_7F4A_7C15) }

    mutating func next() -> UInt64 { numbers.next() }

    /// Returns a number from 0 to `limit - 1`.
    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

    /// Returns true with a probability in percent.
    mutating func chance(percent: Int) -> Bool { below(100) < percent }

    /// Returns a copy in which one to three bytes are changed, removed or inserted.
    mutating func damagedCopy(of bytes: [UInt8]) -> [UInt8] {
        var copy = bytes
        for _ in 0...below(3) {
            guard !copy.isEmpty else { return copy }
            let position = below(copy.count)
            switch below(4) {
            case 0: copy[position] = UInt8(truncatingIfNeeded: next())
            // Zero, the largest and smallest signed byte, and -1: the bounds of lengths.
            case 1: copy[position] = [0, 0x7f, 0x80, 0xff][below(4)]
            case 2: copy.remove(at: position)
            default: copy.insert(UInt8(truncatingIfNeeded: next()), at: position)
            }
        }
        return copy
    }
}
