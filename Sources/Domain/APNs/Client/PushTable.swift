/// The parcels of one pool by slot, with their tokens in a second table. It grows to the largest number of
/// open pushes, and slots are reused. A push touches its parcel when it is taken, sent and ended. With
/// thousands of open pushes each touch may miss the processor's caches. So parcels are contiguous, and a
/// token is not a separate array.
@safe final class PushTable {
    private static let initialRows = 64
    private static let initialTokenBytes = 32

    private var entries: UnsafeMutablePointer<PushEntry>
    /// One row for each parcel. The token's length precedes its bytes.
    private var tokens: UnsafeMutableRawPointer
    private var rows = PushTable.initialRows
    private var rowBytes = MemoryLayout<Int>.size + PushTable.initialTokenBytes

    init() {
        unsafe entries = .allocate(capacity: rows)
        unsafe entries.initialize(repeating: PushEntry(), count: rows)
        unsafe tokens = .allocate(byteCount: rows * rowBytes, alignment: 16)
    }

    deinit {
        for row in 0..<rows { unsafe entries[row].releaseTemplate() }
        unsafe entries.deinitialize(count: rows)
        unsafe entries.deallocate()
        unsafe tokens.deallocate()
    }

    /// Valid until the next call of `take`.
    subscript(slot: Int) -> UnsafeMutablePointer<PushEntry> {
        precondition(slot >= 0 && slot < rows, "no such parcel")
        return unsafe entries + slot
    }

    /// Stores the token for a slot and returns the slot's parcel.
    func occupy(slot: Int, token: Span<UInt8>) -> UnsafeMutablePointer<PushEntry> {
        if slot >= rows { grow(rows: max(slot + 1, 2 * rows), rowBytes: rowBytes) }
        let needed = MemoryLayout<Int>.size + token.count
        if needed > rowBytes { grow(rows: rows, rowBytes: needed.roundedUp(to: 8)) }
        let row = unsafe tokens + slot * rowBytes
        unsafe row.storeBytes(of: token.count, as: Int.self)
        unsafe token.withUnsafeBytes { bytes in
            if let base = bytes.baseAddress {
                unsafe (row + MemoryLayout<Int>.size).copyMemory(from: base, byteCount: bytes.count)
            }
        }
        return unsafe self[slot]
    }

    /// Returns the token. It is valid until the next call of `take`.
    func token(inSlot slot: Int) -> UnsafeBufferPointer<UInt8> {
        precondition(slot >= 0 && slot < rows, "no such parcel")
        let row = unsafe tokens + slot * rowBytes
        let start = unsafe (row + MemoryLayout<Int>.size).assumingMemoryBound(to: UInt8.self)
        return unsafe UnsafeBufferPointer(start: start, count: row.load(as: Int.self))
    }

    private func grow(rows newRows: Int, rowBytes newRowBytes: Int) {
        let moved = UnsafeMutablePointer<PushEntry>.allocate(capacity: newRows)
        unsafe moved.moveInitialize(from: entries, count: rows)
        unsafe (moved + rows).initialize(repeating: PushEntry(), count: newRows - rows)
        let movedTokens = UnsafeMutableRawPointer.allocate(byteCount: newRows * newRowBytes, alignment: 16)
        for row in 0..<rows {
            unsafe (movedTokens + row * newRowBytes).copyMemory(
                from: tokens + row * rowBytes, byteCount: rowBytes)
        }
        unsafe entries.deallocate()
        unsafe tokens.deallocate()
        unsafe entries = moved
        unsafe tokens = movedTokens
        rows = newRows
        rowBytes = newRowBytes
    }
}

extension Int {
    fileprivate func roundedUp(to unit: Int) -> Int { (self + unit - 1) / unit * unit }
}
