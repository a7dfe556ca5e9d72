/// A rate limit for each token or channel, with a fixed number of buckets. Two targets in one bucket reset
/// each other, which only permits more pushes.
struct PushRateLimiter {
    static let bucketsMax = 65_536

    private struct Bucket {
        var target: UInt64 = 0
        var pushes = 0
        /// Milliseconds since 1970.
        var since: Int64 = 0
    }

    private let settings: RateLimitSettings
    private var buckets: [Bucket]

    init(settings: RateLimitSettings) {
        self.settings = settings
        buckets = settings.burst == nil ? [] : Array(repeating: Bucket(), count: Self.bucketsMax)
    }

    /// Counts a push and returns true. Returns false without counting if the push comes too soon.
    mutating func allowsPush(to target: Span<UInt8>, at time: Int64) -> Bool {
        guard let burst = settings.burst else { return true }
        let hash = Self.hash(of: target)
        let index = Int(hash % UInt64(Self.bucketsMax))
        if buckets[index].target != hash { buckets[index] = Bucket(target: hash, pushes: 0, since: time) }
        let refilled = (time - buckets[index].since) / Int64(max(1, settings.refillMilliseconds))
        if refilled > 0 {
            buckets[index].pushes = max(0, buckets[index].pushes - Int(clamping: refilled))
            buckets[index].since += refilled * Int64(max(1, settings.refillMilliseconds))
        }
        guard buckets[index].pushes < burst else { return false }
        buckets[index].pushes += 1
        return true
    }

    /// FNV-1a.
    private static func hash(of bytes: Span<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in 0..<bytes.count { hash = (hash ^ UInt64(bytes[index])) &* 0x0000_0100_0000_01B3 }
        return hash
    }
}
