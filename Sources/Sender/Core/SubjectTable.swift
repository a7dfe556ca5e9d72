/// What one push is under way about, by fingerprints: one step into a table for each push and one for its end.
///
/// Not a `Set`, whose hashing alone was a tenth of the core's time: fingerprints are hashed already, with a seed
/// that nobody outside knows.
struct SubjectTable: Sendable {
    private static let capacityMin = 256
    /// No fingerprint is it, as `key` sees to.
    private static let empty: UInt64 = 0

    private var keys = [UInt64](repeating: SubjectTable.empty, count: SubjectTable.capacityMin)
    private(set) var count = 0

    func contains(_ subject: UInt64) -> Bool { keys[place(of: Self.key(subject))] != Self.empty }

    /// False when it is there already.
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
        // What was put behind it because it was there moves up.
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

    /// Where a key is, or would be.
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
