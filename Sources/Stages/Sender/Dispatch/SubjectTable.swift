/// The subjects with a push under way, as a set of fingerprints. Each push needs one access when it leaves and one when
/// it ends.
///
/// It is not a `Set`, because hashing alone took a tenth of the plan's time. Fingerprints are already hashed,
/// with a seed that is unknown outside. It is a table with open addressing and linear probing: a key lies in its home
/// slot, or in the first free slot behind it.
struct SubjectTable: Sendable {
    /// Number of slots of a small table. It is a power of two, as all capacities are, because the home slot is the low
    /// bits of the key.
    private static let capacityMin = 256
    /// The table grows when more than half of its slots are used, and shrinks when less than an eighth is.
    private static let growDivisor = 2
    private static let shrinkDivisor = 8
    /// The value of an empty slot. `key` ensures that no fingerprint has this value.
    private static let empty: UInt64 = 0

    /// The slots.
    private var keys = [UInt64](repeating: SubjectTable.empty, count: SubjectTable.capacityMin)
    private(set) var count = 0

    func contains(_ subject: UInt64) -> Bool { keys[slot(of: Self.key(subject))] != Self.empty }

    /// Adds a subject. Returns false if it is present.
    mutating func insert(_ subject: UInt64) -> Bool {
        let key = Self.key(subject)
        let slot = slot(of: key)
        guard keys[slot] == Self.empty else { return false }
        keys[slot] = key
        count += 1
        if count * Self.growDivisor > keys.count { resize(to: keys.count * 2) }
        return true
    }

    /// Removes a subject, if it is present. The keys behind its slot move up, so that each is still found from its home
    /// slot without an empty slot between (backward-shift deletion).
    mutating func remove(_ subject: UInt64) {
        var hole = slot(of: Self.key(subject))
        guard keys[hole] != Self.empty else { return }
        count -= 1
        let mask = keys.count - 1
        var next = (hole + 1) & mask
        while keys[next] != Self.empty {
            let homeSlot = Int(truncatingIfNeeded: keys[next]) & mask
            // Distances are taken around the end of the table. A key may not move to a slot before its home slot.
            let distanceFromHome = (next &- homeSlot) & mask
            let distanceFromHole = (next &- hole) & mask
            if distanceFromHome >= distanceFromHole {
                keys[hole] = keys[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        keys[hole] = Self.empty
        if keys.count > Self.capacityMin, count * Self.shrinkDivisor < keys.count {
            resize(to: keys.count / 2)
        }
    }

    /// Returns the slot of a key, or the empty slot where it would go.
    private func slot(of key: UInt64) -> Int {
        let mask = keys.count - 1
        var slot = Int(truncatingIfNeeded: key) & mask
        while keys[slot] != key, keys[slot] != Self.empty { slot = (slot + 1) & mask }
        return slot
    }

    private mutating func resize(to capacity: Int) {
        let old = keys
        keys = [UInt64](repeating: Self.empty, count: capacity)
        for key in old where key != Self.empty { keys[slot(of: key)] = key }
    }

    /// Returns the value that stands for a subject in the table.
    private static func key(_ subject: UInt64) -> UInt64 { subject == empty ? 1 : subject }
}
