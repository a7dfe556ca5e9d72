internal import APNs
internal import Cryptography

/// Generates ids for requests without one, as APNs does: random UUIDs of version 4. Random bytes are fetched
/// for many ids at once.
struct RequestIDGenerator {
    private static let idsPerRefill = 256

    private var randomIDs = [PushID](repeating: PushID(high: 0, low: 0), count: Self.idsPerRefill)
    private var usedCount = Self.idsPerRefill

    mutating func next() -> PushID {
        if usedCount == randomIDs.count { refill() }
        defer { usedCount += 1 }
        // Version 4 and variant 10 (RFC 9562).
        return PushID(
            high: randomIDs[usedCount].high & ~0xF000 | 0x4000,
            low: randomIDs[usedCount].low & ~(0b11 << 62) | 0b10 << 62)
    }

    private mutating func refill() {
        unsafe randomIDs.withUnsafeMutableBytes { unsafe Random.fill($0) }
        usedCount = 0
    }
}
