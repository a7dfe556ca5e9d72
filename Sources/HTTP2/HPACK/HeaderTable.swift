/// The fields that a peer has put into the table of one direction (RFC 7541, 2.3.2), the oldest of which
/// leave when there is no room.
///
/// Entries are numbered by age in a ring; their bytes lie one behind the other in twice the table's size, and
/// are moved to the front when that is full. So a peer that indexes a new value in each answer costs a copy.
@safe final class HeaderTable {
    /// What this side's SETTINGS allow, which say nothing of it: the protocol's default.
    static let bytesMax = 4_096
    /// What each entry takes beside its name and value.
    static let entryBytes = 32

    private struct Entry {
        var start: Int32 = 0
        var nameCount: Int32 = 0
        var valueCount: Int32 = 0

        var bytes: Int { Int(nameCount) + Int(valueCount) }
    }

    private static let entriesMax = bytesMax / entryBytes
    private static let storeBytes = 2 * bytesMax

    private let entries: UnsafeMutablePointer<Entry>
    private let store: UnsafeMutableRawPointer
    private var storeEnd = 0
    /// Where in the ring the oldest entry is.
    private var oldest = 0
    private(set) var count = 0
    private var bytes = 0
    private var bytesMax = HeaderTable.bytesMax

    init() {
        unsafe entries = .allocate(capacity: HeaderTable.entriesMax)
        unsafe entries.initialize(repeating: Entry(), count: HeaderTable.entriesMax)
        unsafe store = .allocate(byteCount: HeaderTable.storeBytes, alignment: 16)
    }

    deinit {
        unsafe entries.deallocate()
        unsafe store.deallocate()
    }

    /// The field that came so many fields before the newest; valid until the next `insert`.
    func field(_ age: Int) -> (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let entry = unsafe entries[(oldest + count - 1 - age) % HeaderTable.entriesMax]
        let name = unsafe store + Int(entry.start)
        return unsafe (
            UnsafeRawBufferPointer(start: name, count: Int(entry.nameCount)),
            UnsafeRawBufferPointer(start: name + Int(entry.nameCount), count: Int(entry.valueCount))
        )
    }

    /// Neither `name` nor `value` lies in this table. What is larger than the table empties it.
    func insert(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        let size = name.count + value.count + HeaderTable.entryBytes
        evict(downTo: bytesMax - size)
        guard size <= bytesMax else { return }
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
        bytes += size
    }

    /// The peer's own limit, at most `HeaderTable.bytesMax`.
    func limit(to size: Int) {
        bytesMax = size
        evict(downTo: size)
    }

    private func evict(downTo limit: Int) {
        while bytes > max(0, limit), count > 0 {
            bytes -= unsafe entries[oldest].bytes + HeaderTable.entryBytes
            oldest = (oldest + 1) % HeaderTable.entriesMax
            count -= 1
        }
    }

    /// What is in the table lies in one piece, and takes at most half of the store.
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
