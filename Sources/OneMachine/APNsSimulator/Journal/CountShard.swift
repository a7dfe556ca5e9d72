internal import CLinux

/// A part of a `CountTable`: open addressing, with at least a quarter of the slots empty.
struct CountShard: Sendable {
    private static let initialSlots = 16

    /// A key and its count side by side. With a million keys each lookup misses the processor's caches, and
    /// each push needs one.
    private struct Slot {
        var key: Key128
        /// Count of the key. 0 means an empty slot.
        var count: UInt32

        static let empty = Slot(key: .none, count: 0)
    }

    private var slots = [Slot](repeating: .empty, count: Self.initialSlots)
    private var used = 0

    /// Prefetches the slot of the key without waiting for it.
    func prefetch(_ key: Key128) {
        unsafe slots.withUnsafeBufferPointer { slots in
            unsafe linux_prefetch(slots.baseAddress! + (Int(truncatingIfNeeded: key.low) & (slots.count - 1)))
        }
    }

    func count(of key: Key128) -> Int { Int(slots[slot(of: key)].count) }

    /// Counts the key once more. Returns its new count, or nil if the key is new and `takesNew` is false.
    mutating func increment(_ key: Key128, addsNew: Bool) -> Int? {
        let slot = slot(of: key)
        let before = slots[slot].count
        if before == 0 {
            guard addsNew else { return nil }
            used += 1
        }
        // The count saturates at its maximum of 4 billion.
        slots[slot] = Slot(key: key, count: before < .max ? before + 1 : before)
        if used * 4 > slots.count * 3 { grow() }
        return Int(before) + 1
    }

    /// Returns the slot of the key, or the empty slot where it belongs.
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
