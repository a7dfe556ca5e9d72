/// A map from the number of an open stream to the index of its slot. It is a hash table with linear probing
/// and at least twice the capacity.
///
/// Stream numbers are consecutive odd numbers. Without hashing they would form one long run in the table,
/// which each removal would have to traverse.
@safe struct StreamTable {
    private struct Entry {
        /// 0 if the position is empty.
        var stream: Int32 = 0
        var slot: Int32 = 0
    }

    private let entries: UnsafeMutablePointer<Entry>
    /// The number of positions, a power of two, less 1.
    private let mask: Int
    /// The bits of a hash that are dropped to get a position.
    private let shift: UInt64

    /// Creates a table for at most `capacity` streams at a time.
    init(capacity: Int) {
        let count = max(4, (2 * capacity).roundedUpToPowerOfTwo)
        mask = count - 1
        shift = UInt64(UInt64.bitWidth - count.trailingZeroBitCount)
        unsafe entries = .allocate(capacity: count)
        unsafe entries.initialize(repeating: Entry(), count: count)
    }

    func free() { unsafe entries.deallocate() }

    /// Returns the home position by golden-ratio hashing. Neighboring streams land far apart, and positions
    /// fill evenly.
    private func homePosition(of stream: Int32) -> Int {
        Int(truncatingIfNeeded: (UInt64(UInt32(bitPattern: stream) >> 1) &* 0x9E37_79B9_7F4A_7C15) >> shift)
    }

    func slot(of stream: Int32) -> Int? {
        var position = homePosition(of: stream)
        while true {
            let entry = unsafe entries[position]
            if entry.stream == stream { return Int(entry.slot) }
            if entry.stream == 0 { return nil }
            position = (position + 1) & mask
        }
    }

    func insert(_ stream: Int32, slot: Int) {
        var position = homePosition(of: stream)
        while unsafe entries[position].stream != 0 { position = (position + 1) & mask }
        unsafe entries[position] = Entry(stream: stream, slot: Int32(slot))
    }

    /// Removes a stream. Entries behind it that it had displaced move into the hole, so that a search still
    /// finds them.
    func remove(_ stream: Int32) {
        var hole = homePosition(of: stream)
        while unsafe entries[hole].stream != stream {
            guard unsafe entries[hole].stream != 0 else { return }
            hole = (hole + 1) & mask
        }
        var position = (hole + 1) & mask
        while unsafe entries[position].stream != 0 {
            let distanceFromHome = unsafe (position - homePosition(of: entries[position].stream)) & mask
            let distanceFromHole = (position - hole) & mask
            // A search from the entry's home position comes past the hole.
            if distanceFromHome >= distanceFromHole {
                unsafe entries[hole] = entries[position]
                hole = position
            }
            position = (position + 1) & mask
        }
        unsafe entries[hole] = Entry()
    }
}
