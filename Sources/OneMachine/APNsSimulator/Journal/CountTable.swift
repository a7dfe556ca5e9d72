/// Counts of up to millions of keys. The keys are distributed over shards that grow one at a time, so that
/// growing never delays a connection noticeably. At `keysMax` no new key is added.
struct CountTable: Sendable {
    private static let shardCount = 256

    /// Limit on the keys.
    let keysMax: Int
    /// Number of keys.
    private(set) var count = 0
    private var shards = [CountShard](repeating: CountShard(), count: Self.shardCount)

    init(keysMax: Int) { self.keysMax = keysMax }

    /// Counts the key once more. Returns its new count, or nil if the table is full and the key is new.
    mutating func increment(_ key: Key128) -> Int? {
        let newCount = shards[shardIndex(of: key)].increment(key, addsNew: count < keysMax)
        if newCount == 1 { count += 1 }
        return newCount
    }

    /// Begins to load the key's slot into the processor's caches, so that a later `increment` does not wait.
    func prefetch(_ key: Key128) { shards[shardIndex(of: key)].prefetch(key) }

    func count(of key: Key128) -> Int { shards[shardIndex(of: key)].count(of: key) }

    /// The first byte of the key selects one of the 256 shards.
    private func shardIndex(of key: Key128) -> Int { Int(key.high >> 56) }
}
