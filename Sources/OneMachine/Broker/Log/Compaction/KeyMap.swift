/// The newest offset of each key, for one compaction pass. It is a hash table with open addressing, which
/// needs 24 bytes for each key of any length.
///
/// It compares keys by 128 bits of a hash with a random seed. If two keys had the same hash, one would lose
/// its record; a hardware fault is more likely.
struct KeyMap {
    /// Limit for the keys of one pass. The pass ends there, and the next one continues.
    static let keysMax = 1_000_000

    private struct KeyHash: Equatable {
        var high: UInt64 = 0
        var low: UInt64 = 0
    }

    private struct Slot {
        var hash = KeyHash()
        /// -1 means free.
        var offset: Int64 = -1
    }

    /// Their number is a power of two.
    private var slots = [Slot](repeating: Slot(), count: 1024)
    /// Number of keys.
    private(set) var count = 0

    /// Stores the offset of a key. Must be called in the order of the log.
    mutating func record(_ key: UnsafeRawBufferPointer, at offset: Int64) {
        let isThreeQuartersFull = (count + 1) * 4 > slots.count * 3
        if isThreeQuartersFull { grow() }
        let hash = unsafe Self.hash(of: key)
        let index = slotIndex(of: hash)
        if slots[index].offset < 0 { count += 1 }
        slots[index] = Slot(hash: hash, offset: offset)
    }

    func newestOffset(of key: UnsafeRawBufferPointer) -> Int64? {
        let offset = slots[slotIndex(of: unsafe Self.hash(of: key))].offset
        return offset < 0 ? nil : offset
    }

    private static func hash(of key: UnsafeRawBufferPointer) -> KeyHash {
        var first = Hasher()
        unsafe first.combine(bytes: key)
        // Any value in front of the key makes the second hash independent of the first.
        var second = Hasher()
        second.combine(0x5eed as UInt16)
        unsafe second.combine(bytes: key)
        return KeyHash(
            high: UInt64(bitPattern: Int64(first.finalize())),
            low: UInt64(bitPattern: Int64(second.finalize())))
    }

    /// Returns the key's slot, or the free slot for it.
    private func slotIndex(of hash: KeyHash) -> Int {
        let mask = slots.count - 1
        var index = Int(truncatingIfNeeded: hash.low) & mask
        while slots[index].offset >= 0, slots[index].hash != hash {
            index = (index + 1) & mask
        }
        return index
    }

    private mutating func grow() {
        let old = slots
        slots = [Slot](repeating: Slot(), count: old.count * 2)
        for slot in old where slot.offset >= 0 { slots[slotIndex(of: slot.hash)] = slot }
    }
}
