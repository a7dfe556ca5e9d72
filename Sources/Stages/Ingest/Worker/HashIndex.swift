/// A hash table that numbers its elements from 0. The caller keeps the elements and compares them. So keys
/// can be stored in one buffer, without an allocation for each.
struct HashIndex {
    /// The position of a search.
    struct Probe {
        fileprivate let hash: UInt32
        fileprivate var slot: Int
    }

    /// The number plus 1 of each slot, or 0 for an empty slot. Its size is a power of two, and at most half
    /// of the slots are used.
    private var slots: [UInt32]
    private var hashes: [UInt32] = []

    init() { slots = Array(repeating: 0, count: 64) }

    var count: Int { hashes.count }

    /// Forgets all numbers and keeps the memory.
    mutating func removeAll() {
        if hashes.isEmpty { return }
        hashes.removeAll(keepingCapacity: true)
        for place in slots.indices { slots[place] = 0 }
    }

    func makeProbe(hash: UInt32) -> Probe { Probe(hash: hash, slot: firstSlot(of: hash)) }

    /// Returns the next number of an element with the probe's hash.
    func nextNumber(for probe: inout Probe) -> Int? {
        while slots[probe.slot] != 0 {
            let number = Int(slots[probe.slot]) - 1
            probe.slot = (probe.slot + 1) & (slots.count - 1)
            if hashes[number] == probe.hash { return number }
        }
        return nil
    }

    /// Gives the next number to an element that was not found.
    mutating func add(hash: UInt32) {
        hashes.append(hash)
        if 2 * hashes.count > slots.count { grow() } else { insert(number: hashes.count - 1) }
    }

    private mutating func grow() {
        slots = Array(repeating: 0, count: 2 * slots.count)
        for number in hashes.indices { insert(number: number) }
    }

    private mutating func insert(number: Int) {
        var slot = firstSlot(of: hashes[number])
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = UInt32(number) + 1
    }

    /// Returns the first slot of a hash. All keys of one partition have the same remainder of their hashes,
    /// so this uses the upper bits of a product.
    private func firstSlot(of hash: UInt32) -> Int {
        let mixed = UInt64(hash) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> 32) & (slots.count - 1)
    }
}
