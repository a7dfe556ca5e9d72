internal import Lifecycle

/// A hash of 128 bits that stands for a name, so that tables need no strings. It depends on a seed that clients do not
/// know. So fingerprints of two names do not collide in practice, even if a client chooses the names. If 64 bits are
/// enough, `high` is used alone.
struct Fingerprint: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    /// Combines the parts. Their lengths count too, so that ("ab", "c") and ("a", "bc") differ.
    init(seed: UInt64, _ parts: String...) {
        var builder = FingerprintBuilder(seed: seed)
        for part in parts {
            var part = part
            part.withUTF8 { unsafe builder.add(UnsafeRawBufferPointer($0)) }
        }
        self = builder.fingerprint
    }

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    func hash(into hasher: inout Hasher) { hasher.combine(high) }
}

/// The computation of a fingerprint: two sums over eight bytes at a time, mixed at every step.
struct FingerprintBuilder {
    /// Arbitrary constants with about as many ones as zeros. Fingerprints are not stored, so the constants may change.
    private static let lowSeed: UInt64 = 0x5851_F42D_4C95_7F2D
    private static let highFactor: UInt64 = 0x9E37_79B9_7F4A_7C15
    private static let lowFactor: UInt64 = 0xD6E8_FEB8_6659_FD93
    private static let wordByteCount = 8

    private var high: UInt64
    private var low: UInt64

    init(seed: UInt64) {
        high = SplitMix64.number(forState: seed)
        low = SplitMix64.number(forState: seed ^ Self.lowSeed)
    }

    /// Adds bytes and their number.
    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        while offset + Self.wordByteCount <= bytes.count {
            add(unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += Self.wordByteCount
        }
        var lastBytes: UInt64 = 0
        while offset < bytes.count {
            lastBytes = unsafe lastBytes << 8 | UInt64(bytes[offset])
            offset += 1
        }
        add(lastBytes)
        add(UInt64(bytes.count))
    }

    mutating func add(_ word: UInt64) {
        let highProduct = (high ^ word).multipliedFullWidth(by: Self.highFactor)
        high = highProduct.high ^ highProduct.low
        let lowProduct = (low &+ word).multipliedFullWidth(by: Self.lowFactor)
        low = lowProduct.high ^ lowProduct.low ^ high
    }

    var fingerprint: Fingerprint {
        Fingerprint(high: SplitMix64.number(forState: high), low: SplitMix64.number(forState: low))
    }
}
