/// The dynamic table (RFC 7541, 2.3.2) that the peer fills with the fields that it sends. The oldest fields
/// leave when it is full.
///
/// The entries are a ring, ordered by age. Their names and values are contiguous in `store`, which has twice
/// the table's size. They move to its front when it is full. So a peer that adds a new value with each answer
/// costs only copies.
@safe final class HeaderTable {
    /// The limit of the table's size. This side's SETTINGS announce no other, so the protocol's default
    /// applies.
    static let bytesMax = 4_096
    /// The size by which an entry counts in addition to its name and value (RFC 7541, 4.1).
    static let entryOverheadBytes = 32

    private struct Entry {
        /// The offset of the name in `store`. The value follows it.
        var start: Int32 = 0
        var nameCount: Int32 = 0
        var valueCount: Int32 = 0

        var textBytes: Int { Int(nameCount) + Int(valueCount) }
    }

    private static let entriesMax = bytesMax / entryOverheadBytes
    private static let storeBytes = 2 * bytesMax

    private let entries: UnsafeMutablePointer<Entry>
    private let store: UnsafeMutableRawPointer
    private var storeEnd = 0
    /// The position of the oldest entry in the ring.
    private var oldest = 0
    /// The number of entries.
    private(set) var count = 0
    /// The size of all entries, as the protocol counts it.
    private var tableBytes = 0
    /// The limit that the peer has set for itself.
    private var tableBytesMax = HeaderTable.bytesMax

    init() {
        unsafe entries = .allocate(capacity: HeaderTable.entriesMax)
        unsafe entries.initialize(repeating: Entry(), count: HeaderTable.entriesMax)
        unsafe store = .allocate(byteCount: HeaderTable.storeBytes, alignment: 16)
    }

    deinit {
        unsafe entries.deallocate()
        unsafe store.deallocate()
    }

    /// Returns the field with this age, where 0 is the newest. Valid until the next `insert`.
    func field(age: Int) -> (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let entry = unsafe entries[(oldest + count - 1 - age) % HeaderTable.entriesMax]
        let name = unsafe store + Int(entry.start)
        return unsafe (
            UnsafeRawBufferPointer(start: name, count: Int(entry.nameCount)),
            UnsafeRawBufferPointer(start: name + Int(entry.nameCount), count: Int(entry.valueCount))
        )
    }

    /// Inserts a field. `name` and `value` must not point into this table. A field larger than the table
    /// empties it.
    func insert(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let size = name.count + value.count + HeaderTable.entryOverheadBytes
        evict(downTo: tableBytesMax - size)
        guard size <= tableBytesMax else { return }
        if storeEnd + name.count + value.count > HeaderTable.storeBytes { moveToFront() }
        let target = unsafe store + storeEnd
        if let base = name.baseAddress { unsafe target.copyMemory(from: base, byteCount: name.count) }
        if let base = value.baseAddress {
            unsafe (target + name.count).copyMemory(from: base, byteCount: value.count)
        }
        unsafe entries[(oldest + count) % HeaderTable.entriesMax] = Entry(
            start: Int32(storeEnd), nameCount: Int32(name.count), valueCount: Int32(value.count))
        storeEnd += name.count + value.count
        count += 1
        tableBytes += size
    }

    /// Applies the peer's own limit, at most `HeaderTable.bytesMax`.
    func setLimit(to size: Int) {
        tableBytesMax = size
        evict(downTo: size)
    }

    /// Removes the oldest entries until the table has at most this size.
    private func evict(downTo limit: Int) {
        while tableBytes > max(0, limit), count > 0 {
            tableBytes -= unsafe entries[oldest].textBytes + HeaderTable.entryOverheadBytes
            oldest = (oldest + 1) % HeaderTable.entriesMax
            count -= 1
        }
    }

    /// Moves the bytes of all entries to the front. They are contiguous and take at most half of the store.
    private func moveToFront() {
        guard count > 0 else {
            storeEnd = 0
            return
        }
        let start = unsafe Int(entries[oldest].start)
        unsafe store.copyMemory(from: store + start, byteCount: storeEnd - start)
        for age in 0..<count {
            unsafe entries[(oldest + age) % HeaderTable.entriesMax].start -= Int32(start)
        }
        storeEnd -= start
    }
}
