/// A part of a `CountTable`: open addressing, with a place at least in four empty.
struct CountShard: Sendable {
    private static let placesAtFirst = 16

    /// A count of 0 is an empty place.
    private var counts = [UInt32](repeating: 0, count: Self.placesAtFirst)
    private var keys = [Key128](repeating: .none, count: Self.placesAtFirst)
    private var used = 0

    func count(of key: Key128) -> Int { Int(counts[place(of: key)]) }

    /// One more; how often the key has been seen now, or nil when it is new and may not be taken.
    mutating func add(_ key: Key128, takesNew: Bool) -> Int? {
        let place = place(of: key)
        let before = counts[place]
        if before == 0 {
            guard takesNew else { return nil }
            keys[place] = key
            used += 1
        }
        // Nobody is pushed to four thousand million times; if so, the count stays there.
        counts[place] = before < .max ? before + 1 : before
        if used * 4 > counts.count * 3 { grow() }
        return Int(before) + 1
    }

    /// Where the key is, or the empty place where it belongs.
    private func place(of key: Key128) -> Int {
        var place = Int(truncatingIfNeeded: key.low) & (counts.count - 1)
        while counts[place] > 0, keys[place] != key { place = (place + 1) & (counts.count - 1) }
        return place
    }

    private mutating func grow() {
        let (oldCounts, oldKeys) = (counts, keys)
        counts = [UInt32](repeating: 0, count: 2 * oldCounts.count)
        keys = [Key128](repeating: .none, count: 2 * oldCounts.count)
        for index in oldCounts.indices where oldCounts[index] > 0 {
            let place = place(of: oldKeys[index])
            counts[place] = oldCounts[index]
            keys[place] = oldKeys[index]
        }
    }
}
