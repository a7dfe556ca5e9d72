/// A hash table that numbers its elements from 0 in the order in which they are added. The caller stores the elements
/// and compares them, so that keys can lie in one buffer, without an allocation for each.
///
/// A search goes from slot to slot until the caller has found its element:
///
///     var probe = index.makeProbe(hash: hash)
///     while let number = index.nextNumber(for: &probe) {
///         if elements[number] == element { return number }
///     }
struct HashIndex {
    /// The position of a search.
    struct Probe {
        fileprivate let hash: UInt32
        fileprivate var slot: Int
    }

    private static let slotCountMin = 64
    /// 2^64 divided by the golden ratio. The upper bits of a product with it depend on all bits of the other factor.
    private static let goldenRatio: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// The number plus 1 of each slot, or 0 for an empty slot. The count is a power of two, and at most half
    /// of the slots are used.
    private var slots: [UInt32]
    /// The hash of each number.
    private var hashes: [UInt32] = []

    init() { slots = Array(repeating: 0, count: Self.slotCountMin) }

    var count: Int { hashes.count }

    /// Forgets all numbers and keeps the memory.
    mutating func removeAll() {
        if hashes.isEmpty { return }
        hashes.removeAll(keepingCapacity: true)
        for slot in slots.indices { slots[slot] = 0 }
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

    /// Adds an element that was not found. Its number is the count before.
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

    /// Returns the first slot of a hash. The keys of a partition have the same remainder of their hashes, by which
    /// Kafka chose the partition. Their lower bits can therefore be equal, and the slot comes from the upper bits of a
    /// product.
    private func firstSlot(of hash: UInt32) -> Int {
        let mixed = UInt64(hash) &* Self.goldenRatio
        return Int(truncatingIfNeeded: mixed >> 32) & (slots.count - 1)
    }
}
