/// The subjects with a push under way, as fingerprints. Each push needs one table access when it leaves and
/// one when it ends.
///
/// It is not a `Set`, because hashing alone took a tenth of the plan's time. Fingerprints are already hashed,
/// with a seed that is unknown outside.
struct SubjectTable: Sendable {
    private static let capacityMin = 256
    /// The mark of an empty place. `key` ensures that no fingerprint has this value.
    private static let empty: UInt64 = 0

    private var keys = [UInt64](repeating: SubjectTable.empty, count: SubjectTable.capacityMin)
    private(set) var count = 0

    func contains(_ subject: UInt64) -> Bool { keys[place(of: Self.key(subject))] != Self.empty }

    /// Adds a subject. Returns false if it is present.
    mutating func insert(_ subject: UInt64) -> Bool {
        let key = Self.key(subject)
        let place = place(of: key)
        guard keys[place] == Self.empty else { return false }
        keys[place] = key
        count += 1
        if count * 2 > keys.count { resize(to: keys.count * 2) }
        return true
    }

    mutating func remove(_ subject: UInt64) {
        var hole = place(of: Self.key(subject))
        guard keys[hole] != Self.empty else { return }
        count -= 1
        // Keys that were placed further on because this place was taken move up.
        let mask = keys.count - 1
        var next = (hole + 1) & mask
        while keys[next] != Self.empty {
            let home = Int(truncatingIfNeeded: keys[next]) & mask
            if (next &- home) & mask >= (next &- hole) & mask {
                keys[hole] = keys[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        keys[hole] = Self.empty
        if keys.count > Self.capacityMin, count * 8 < keys.count { resize(to: keys.count / 2) }
    }

    /// Returns the place of a key, or the empty place where it would go.
    private func place(of key: UInt64) -> Int {
        let mask = keys.count - 1
        var place = Int(truncatingIfNeeded: key) & mask
        while keys[place] != key, keys[place] != Self.empty { place = (place + 1) & mask }
        return place
    }

    private mutating func resize(to capacity: Int) {
        let old = keys
        keys = [UInt64](repeating: Self.empty, count: capacity)
        for key in old where key != Self.empty { keys[place(of: key)] = key }
    }

    private static func key(_ subject: UInt64) -> UInt64 { subject == empty ? 1 : subject }
}
