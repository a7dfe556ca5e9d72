internal import Lifecycle

/// A name of 128 bits for bytes, made with a seed that callers do not know. Two names do not collide in
/// practice, and tables need no strings.
struct Fingerprint: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    /// Combines the parts. Their lengths keep them apart.
    init(seed: UInt64, _ parts: String...) {
        var builder = FingerprintBuilder(seed: seed)
        for part in parts {
            var part = part
            part.withUTF8 { unsafe builder.add(UnsafeRawBufferPointer($0)) }
        }
        self = builder.made
    }

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    func hash(into hasher: inout Hasher) { hasher.combine(high) }
}

/// The computation of a fingerprint: two sums over eight bytes at a time, mixed at every step.
struct FingerprintBuilder {
    private var high: UInt64
    private var low: UInt64

    init(seed: UInt64) {
        high = SplitMix64.number(forState: seed)
        low = SplitMix64.number(forState: seed ^ 0x5851_F42D_4C95_7F2D)
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var place = 0
        while place + 8 <= bytes.count {
            add(unsafe bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            place += 8
        }
        var rest: UInt64 = 0
        while place < bytes.count {
            rest = unsafe rest << 8 | UInt64(bytes[place])
            place += 1
        }
        add(rest)
        add(UInt64(bytes.count))
    }

    mutating func add(_ word: UInt64) {
        let first = (high ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        high = first.high ^ first.low
        let second = (low &+ word).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        low = second.high ^ second.low ^ high
    }

    var made: Fingerprint {
        Fingerprint(high: SplitMix64.number(forState: high), low: SplitMix64.number(forState: low))
    }
}
