internal import CLinux

/// A part of a `CountTable`: open addressing, with a slot at least in four empty.
struct CountShard: Sendable {
    private static let slotsAtFirst = 16

    /// Key and count side by side: with a million keys each look into the table misses the processor's caches,
    /// and there is one for each push.
    private struct Slot {
        var key: Key128
        /// 0 is an empty slot.
        var count: UInt32

        static let empty = Slot(key: .none, count: 0)
    }

    private var slots = [Slot](repeating: .empty, count: Self.slotsAtFirst)
    private var used = 0

    /// Asks the processor for where the key is, and does not wait for it.
    func prefetch(_ key: Key128) {
        unsafe slots.withUnsafeBufferPointer { slots in
            unsafe linux_prefetch(slots.baseAddress! + (Int(truncatingIfNeeded: key.low) & (slots.count - 1)))
        }
    }

    func count(of key: Key128) -> Int { Int(slots[slot(of: key)].count) }

    /// One more; how often the key has been seen now, or nil when it is new and may not be taken.
    mutating func add(_ key: Key128, takesNew: Bool) -> Int? {
        let slot = slot(of: key)
        let before = slots[slot].count
        if before == 0 {
            guard takesNew else { return nil }
            used += 1
        }
        // Nobody is pushed to four thousand million times; if so, the count stays there.
        slots[slot] = Slot(key: key, count: before < .max ? before + 1 : before)
        if used * 4 > slots.count * 3 { grow() }
        return Int(before) + 1
    }

    /// Where the key is, or the empty slot where it belongs.
    private func slot(of key: Key128) -> Int {
        var slot = Int(truncatingIfNeeded: key.low) & (slots.count - 1)
        while slots[slot].count > 0, slots[slot].key != key { slot = (slot + 1) & (slots.count - 1) }
        return slot
    }

    private mutating func grow() {
        let old = slots
        slots = [Slot](repeating: .empty, count: 2 * old.count)
        for kept in old where kept.count > 0 { slots[slot(of: kept.key)] = kept }
    }
}
