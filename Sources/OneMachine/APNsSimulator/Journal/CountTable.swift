/// Counts of many keys. The table grows in small shards, one at a time, so that growing never delays a
/// connection noticeably. At `keysMax` no new key is added.
struct CountTable: Sendable {
    private static let shardCount = 256

    let keysMax: Int
    private(set) var count = 0
    private var shards = [CountShard](repeating: CountShard(), count: Self.shardCount)

    init(keysMax: Int) { self.keysMax = keysMax }

    /// Counts the key once more. Returns its new count, or nil if the table is full and the key is new.
    mutating func increment(_ key: Key128) -> Int? {
        let times = shards[Int(key.high >> 56)].increment(key, addsNew: count < keysMax)
        if times == 1 { count += 1 }
        return times
    }

    func prefetch(_ key: Key128) { shards[Int(key.high >> 56)].prefetch(key) }

    func count(of key: Key128) -> Int {
        shards[Int(key.high >> 56)].count(of: key)
    }
}
