internal import CLinux

/// One part of a `CountTable`: a hash table with open addressing and linear probing, of which at least a quarter
/// is empty.
struct CountShard: Sendable {
    private static let initialSlots = 16

    /// A key and its count. They are side by side, so that a lookup misses the processor's caches only once.
    private struct Slot {
        var key: Key128
        /// Count of the key. 0 means an empty slot.
        var count: UInt32

        static let empty = Slot(key: .none, count: 0)
    }

    /// The slots. Their number is a power of two.
    private var slots = [Slot](repeating: .empty, count: Self.initialSlots)
    private var usedSlots = 0

    /// Begins to load the slot of the key into the processor's caches, without waiting for it.
    func prefetch(_ key: Key128) {
        unsafe slots.withUnsafeBufferPointer { slots in
            unsafe linux_prefetch(slots.baseAddress! + (Int(truncatingIfNeeded: key.low) & (slots.count - 1)))
        }
    }

    func count(of key: Key128) -> Int { Int(slots[slot(of: key)].count) }

    /// Counts the key once more. Returns its new count, or nil if the key is new and `addsNew` is false.
    mutating func increment(_ key: Key128, addsNew: Bool) -> Int? {
        let slot = slot(of: key)
        let oldCount = slots[slot].count
        if oldCount == 0 {
            guard addsNew else { return nil }
            usedSlots += 1
        }
        // The stored count saturates at 4 billion.
        slots[slot] = Slot(key: key, count: oldCount < .max ? oldCount + 1 : oldCount)
        let isThreeQuartersFull = usedSlots * 4 > slots.count * 3
        if isThreeQuartersFull { grow() }
        return Int(oldCount) + 1
    }

    /// Returns the slot of the key, or the empty slot where it belongs.
    private func slot(of key: Key128) -> Int {
        var slot = Int(truncatingIfNeeded: key.low) & (slots.count - 1)
        while slots[slot].count > 0, slots[slot].key != key { slot = (slot + 1) & (slots.count - 1) }
        return slot
    }

    private mutating func grow() {
        let oldSlots = slots
        slots = [Slot](repeating: .empty, count: 2 * oldSlots.count)
        for entry in oldSlots where entry.count > 0 { slots[slot(of: entry.key)] = entry }
    }
}
