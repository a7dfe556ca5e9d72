/// A map from open streams to slots: an open-addressing table of at least twice the capacity.
///
/// Stream numbers are consecutive odd numbers. Without hashing they would form one long run in the table,
/// which each removal would have to traverse.
@safe struct StreamTable {
    private struct Entry {
        var stream: Int32 = 0
        var slot: Int32 = 0
    }

    private let entries: UnsafeMutablePointer<Entry>
    private let mask: Int
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
        var at = homePosition(of: stream)
        while true {
            let entry = unsafe entries[at]
            if entry.stream == stream { return Int(entry.slot) }
            if entry.stream == 0 { return nil }
            at = (at + 1) & mask
        }
    }

    func insert(_ stream: Int32, slot: Int) {
        var at = homePosition(of: stream)
        while unsafe entries[at].stream != 0 { at = (at + 1) & mask }
        unsafe entries[at] = Entry(stream: stream, slot: Int32(slot))
    }

    /// Removes a stream. Later entries that it had displaced move up.
    func remove(_ stream: Int32) {
        var hole = homePosition(of: stream)
        while unsafe entries[hole].stream != stream {
            guard unsafe entries[hole].stream != 0 else { return }
            hole = (hole + 1) & mask
        }
        var at = (hole + 1) & mask
        while unsafe entries[at].stream != 0 {
            let distance = unsafe (at - homePosition(of: entries[at].stream)) & mask
            if distance >= (at - hole) & mask {
                unsafe entries[hole] = entries[at]
                hole = at
            }
            at = (at + 1) & mask
        }
        unsafe entries[hole] = Entry()
    }
}
