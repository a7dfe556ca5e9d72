/// The subjects with a push under way, as fingerprints. Each push needs one table access when it leaves and
/// one when it ends.
///
/// It is not a `Set`, because hashing alone took a tenth of the plan's time. Fingerprints are already hashed,
/// with a seed that is unknown outside.
struct SubjectTable: Sendable {
    private static let capacityMin = 256
    /// The value of an empty slot. `key` ensures that no fingerprint has this value.
    private static let empty: UInt64 = 0

    /// An open-addressing table: a key lies in its own slot, or in the next free one behind it.
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
        if count * 2 > keys.count { resize(to: keys.count * 2) }
        return true
    }

    mutating func remove(_ subject: UInt64) {
        var hole = slot(of: Self.key(subject))
        guard keys[hole] != Self.empty else { return }
        count -= 1
        // Keys that lie further on because this slot was taken move up.
        let mask = keys.count - 1
        var next = (hole + 1) & mask
        while keys[next] != Self.empty {
            let ownSlot = Int(truncatingIfNeeded: keys[next]) & mask
            let mayMoveToHole = (next &- ownSlot) & mask >= (next &- hole) & mask
            if mayMoveToHole {
                keys[hole] = keys[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        keys[hole] = Self.empty
        if keys.count > Self.capacityMin, count * 8 < keys.count { resize(to: keys.count / 2) }
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

    private static func key(_ subject: UInt64) -> UInt64 { subject == empty ? 1 : subject }
}
