/// How often each of many keys was seen. The table grows in small shards, one at a time: growing never
/// takes long enough for a connection to notice. At `keysMax` no further key is taken.
struct CountTable: Sendable {
    private static let shardCount = 256

    let keysMax: Int
    private(set) var count = 0
    private var shards = [CountShard](repeating: CountShard(), count: Self.shardCount)

    init(keysMax: Int) { self.keysMax = keysMax }

    /// One more; how often the key has been seen now, or nil when the table is full and the key is new.
    mutating func add(_ key: Key128) -> Int? {
        let times = shards[Int(key.high >> 56)].add(key, takesNew: count < keysMax)
        if times == 1 { count += 1 }
        return times
    }

    func prefetch(_ key: Key128) { shards[Int(key.high >> 56)].prefetch(key) }

    func seen(_ key: Key128) -> Int {
        shards[Int(key.high >> 56)].count(of: key)
    }
}
