/// Whether one token or channel gets too much at a time. A bucket for each of a fixed number of
/// places; two targets that share a place take it from one another, which only ever lets more through.
struct TokenPace {
    static let places = 65_536

    private struct Bucket {
        var target: UInt64 = 0
        var pushes = 0
        /// Milliseconds since 1970.
        var since: Int64 = 0
    }

    private let settings: PaceSettings
    private var buckets: [Bucket]

    init(_ settings: PaceSettings) {
        self.settings = settings
        buckets = settings.burst == nil ? [] : Array(repeating: Bucket(), count: Self.places)
    }

    /// False when this push comes too soon; it then does not count.
    mutating func allows(_ target: Span<UInt8>, at time: Int64) -> Bool {
        guard let burst = settings.burst else { return true }
        let hash = Self.hash(target)
        let place = Int(hash % UInt64(Self.places))
        if buckets[place].target != hash { buckets[place] = Bucket(target: hash, pushes: 0, since: time) }
        let refilled = (time - buckets[place].since) / Int64(max(1, settings.refillMilliseconds))
        if refilled > 0 {
            buckets[place].pushes = max(0, buckets[place].pushes - Int(clamping: refilled))
            buckets[place].since += refilled * Int64(max(1, settings.refillMilliseconds))
        }
        guard buckets[place].pushes < burst else { return false }
        buckets[place].pushes += 1
        return true
    }

    /// FNV-1a.
    private static func hash(_ bytes: Span<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in 0..<bytes.count { hash = (hash ^ UInt64(bytes[index])) &* 0x0000_0100_0000_01B3 }
        return hash
    }
}
