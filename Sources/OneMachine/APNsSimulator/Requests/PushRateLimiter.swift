/// A rate limit (token bucket) for each device token or channel, in a hash table of fixed size. If two targets
/// share a bucket, each push of one resets the bucket of the other, so both may send more than the limit.
struct PushRateLimiter {
    static let bucketsMax = 65_536

    private struct Bucket {
        /// Hash of the target that uses the bucket.
        var targetHash: UInt64 = 0
        /// Pushes of the burst that are used and not refilled yet.
        var usedPushes = 0
        /// Start of the current refill period, in milliseconds since 1970.
        var periodStart: Int64 = 0
    }

    private let settings: RateLimitSettings
    private var buckets: [Bucket]

    init(settings: RateLimitSettings) {
        self.settings = settings
        buckets = settings.burst == nil ? [] : Array(repeating: Bucket(), count: Self.bucketsMax)
    }

    /// Counts a push and returns true. Returns false without counting if the push comes too soon.
    /// - Parameter time: milliseconds since 1970.
    mutating func takePush(to target: Span<UInt8>, at time: Int64) -> Bool {
        guard let burst = settings.burst else { return true }
        let hash = Self.hash(of: target)
        let index = Int(hash % UInt64(Self.bucketsMax))
        if buckets[index].targetHash != hash {
            buckets[index] = Bucket(targetHash: hash, usedPushes: 0, periodStart: time)
        }
        let periodMilliseconds = Int64(max(1, settings.refillMilliseconds))
        let refilledPushes = (time - buckets[index].periodStart) / periodMilliseconds
        if refilledPushes > 0 {
            buckets[index].usedPushes = max(0, buckets[index].usedPushes - Int(clamping: refilledPushes))
            buckets[index].periodStart += refilledPushes * periodMilliseconds
        }
        guard buckets[index].usedPushes < burst else { return false }
        buckets[index].usedPushes += 1
        return true
    }

    private static let fnvOffsetBasis: UInt64 = 0xCBF2_9CE4_8422_2325
    private static let fnvPrime: UInt64 = 0x0000_0100_0000_01B3

    /// Returns the FNV-1a hash.
    private static func hash(of bytes: Span<UInt8>) -> UInt64 {
        var hash = fnvOffsetBasis
        for index in 0..<bytes.count { hash = (hash ^ UInt64(bytes[index])) &* fnvPrime }
        return hash
    }
}
