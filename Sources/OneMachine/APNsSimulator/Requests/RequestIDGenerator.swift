internal import APNs
internal import Cryptography

/// A generator of ids for requests without one, as APNs has it: random UUIDs of version 4.
struct RequestIDGenerator {
    /// The system gives random bytes for this many ids in one call.
    private static let idsPerRefill = 256

    private var randomIDs = [PushID](repeating: PushID(high: 0, low: 0), count: Self.idsPerRefill)
    private var usedCount = Self.idsPerRefill

    mutating func next() -> PushID {
        if usedCount == randomIDs.count { refill() }
        let random = randomIDs[usedCount]
        usedCount += 1
        // RFC 9562: four bits of the high word are the version, 4, and the top bits of the low word are 10.
        return PushID(
            high: random.high & ~0xF000 | 0x4000, low: random.low & ~(0b11 << 62) | 0b10 << 62)
    }

    private mutating func refill() {
        unsafe randomIDs.withUnsafeMutableBytes { unsafe Random.fill($0) }
        usedCount = 0
    }
}
