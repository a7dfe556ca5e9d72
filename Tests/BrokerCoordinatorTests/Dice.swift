import Lifecycle

/// A seeded generator: the same seed throws the same dice everywhere.
struct Dice: RandomNumberGenerator {
    private var numbers: SplitMix64

    init(seed: UInt64) { numbers = SplitMix64(state: seed &+ 0x9E37_79B9_7F4A_7C15) }

    mutating func next() -> UInt64 { numbers.next() }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    /// The bytes with a few of them changed, taken out or put in.
    mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
        var out = bytes
        for _ in 0...below(3) {
            guard !out.isEmpty else { return out }
            let place = below(out.count)
            switch below(4) {
            case 0: out[place] = UInt8(truncatingIfNeeded: next())
            case 1: out[place] = [0, 0x7f, 0x80, 0xff][below(4)]
            case 2: out.remove(at: place)
            default: out.insert(UInt8(truncatingIfNeeded: next()), at: place)
            }
        }
        return out
    }
}
