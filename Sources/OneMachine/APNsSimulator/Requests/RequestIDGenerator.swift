internal import APNs
internal import Cryptography

/// Makes ids for requests without one, like APNs: random UUIDs of version 4.
struct RequestIDGenerator {
    private static let idsPerRefill = 256

    private var random = [PushID](repeating: PushID(high: 0, low: 0), count: Self.idsPerRefill)
    private var used = Self.idsPerRefill

    mutating func next() -> PushID {
        if used == random.count { refill() }
        defer { used += 1 }
        return PushID(
            high: random[used].high & ~0xF000 | 0x4000,
            low: random[used].low & ~(0b11 << 62) | 0b10 << 62)
    }

    private mutating func refill() {
        unsafe random.withUnsafeMutableBytes { unsafe Random.fill($0) }
        used = 0
    }
}
