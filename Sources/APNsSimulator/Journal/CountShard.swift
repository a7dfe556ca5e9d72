/// A part of a `CountTable`: open addressing, with a slot at least in four empty.
struct CountShard: Sendable {
    private static let slotsAtFirst = 16

    /// A count of 0 is an empty slot.
    private var counts = [UInt32](repeating: 0, count: Self.slotsAtFirst)
    private var keys = [Key128](repeating: .none, count: Self.slotsAtFirst)
    private var used = 0

    func count(of key: Key128) -> Int { Int(counts[slot(of: key)]) }

    /// One more; how often the key has been seen now, or nil when it is new and may not be taken.
    mutating func add(_ key: Key128, takesNew: Bool) -> Int? {
        let slot = slot(of: key)
        let before = counts[slot]
        if before == 0 {
            guard takesNew else { return nil }
            keys[slot] = key
            used += 1
        }
        // Nobody is pushed to four thousand million times; if so, the count stays there.
        counts[slot] = before < .max ? before + 1 : before
        if used * 4 > counts.count * 3 { grow() }
        return Int(before) + 1
    }

    /// Where the key is, or the empty slot where it belongs.
    private func slot(of key: Key128) -> Int {
        var slot = Int(truncatingIfNeeded: key.low) & (counts.count - 1)
        while counts[slot] > 0, keys[slot] != key { slot = (slot + 1) & (counts.count - 1) }
        return slot
    }

    private mutating func grow() {
        let (oldCounts, oldKeys) = (counts, keys)
        counts = [UInt32](repeating: 0, count: 2 * oldCounts.count)
        keys = [Key128](repeating: .none, count: 2 * oldCounts.count)
        for index in oldCounts.indices where oldCounts[index] > 0 {
            let slot = slot(of: oldKeys[index])
            counts[slot] = oldCounts[index]
            keys[slot] = oldKeys[index]
        }
    }
}
