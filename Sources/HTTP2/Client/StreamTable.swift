/// Which slot an open stream has: a table of open addresses, twice as large as it need be.
///
/// Streams are odd numbers in order. Side by side in the table they would be one long run, through which each
/// removal had to go; so their numbers are scattered.
@safe struct StreamTable {
    private struct Entry {
        var stream: Int32 = 0
        var slot: Int32 = 0
    }

    private let entries: UnsafeMutablePointer<Entry>
    private let mask: Int
    private let shift: UInt64

    /// For at most so many streams at a time.
    init(capacity: Int) {
        let count = max(4, (2 * capacity).roundedUpToPowerOfTwo)
        mask = count - 1
        shift = UInt64(UInt64.bitWidth - count.trailingZeroBitCount)
        unsafe entries = .allocate(capacity: count)
        unsafe entries.initialize(repeating: Entry(), count: count)
    }

    func free() { unsafe entries.deallocate() }

    /// The golden ratio's share of a turn for each stream: neighbours lie far apart, and places fill evenly.
    private func home(of stream: Int32) -> Int {
        Int(truncatingIfNeeded: (UInt64(UInt32(bitPattern: stream) >> 1) &* 0x9E37_79B9_7F4A_7C15) >> shift)
    }

    func slot(of stream: Int32) -> Int? {
        var at = home(of: stream)
        while true {
            let entry = unsafe entries[at]
            if entry.stream == stream { return Int(entry.slot) }
            if entry.stream == 0 { return nil }
            at = (at + 1) & mask
        }
    }

    func insert(_ stream: Int32, slot: Int) {
        var at = home(of: stream)
        while unsafe entries[at].stream != 0 { at = (at + 1) & mask }
        unsafe entries[at] = Entry(stream: stream, slot: Int32(slot))
    }

    /// Those behind it that it had kept from their own place move up.
    func remove(_ stream: Int32) {
        var hole = home(of: stream)
        while unsafe entries[hole].stream != stream {
            guard unsafe entries[hole].stream != 0 else { return }
            hole = (hole + 1) & mask
        }
        var at = (hole + 1) & mask
        while unsafe entries[at].stream != 0 {
            let distance = unsafe (at - home(of: entries[at].stream)) & mask
            if distance >= (at - hole) & mask {
                unsafe entries[hole] = entries[at]
                hole = at
            }
            at = (at + 1) & mask
        }
        unsafe entries[hole] = Entry()
    }
}
