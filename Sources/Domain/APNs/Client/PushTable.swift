/// The table of the open pushes of one pool: an array of entries, and beside it an array of tokens, both by slot.
/// It grows to the largest number of open pushes, and slots are reused. A push touches its entry when it is taken,
/// sent and ended. With thousands of open pushes each touch may miss the processor's caches. So entries are
/// contiguous, and no token is a separate array.
@safe final class PushTable {
    private static let initialSlots = 64
    private static let initialTokenBytes = 32
    /// The size of a token's length, which precedes the token.
    private static let lengthBytes = MemoryLayout<Int>.size

    private var slotCount = PushTable.initialSlots
    private var entries: UnsafeMutablePointer<PushEntry>
    /// One token in each slot: its length, and then its bytes.
    private var tokens: UnsafeMutableRawPointer
    /// The size of a slot of `tokens`.
    private var tokenSlotBytes = PushTable.lengthBytes + PushTable.initialTokenBytes

    init() {
        unsafe entries = .allocate(capacity: slotCount)
        unsafe entries.initialize(repeating: PushEntry(), count: slotCount)
        unsafe tokens = .allocate(byteCount: slotCount * tokenSlotBytes, alignment: 16)
    }

    deinit {
        for slot in 0..<slotCount { unsafe entries[slot].releaseTemplate() }
        unsafe entries.deinitialize(count: slotCount)
        unsafe entries.deallocate()
        unsafe tokens.deallocate()
    }

    /// Returns the entry of a slot. It is valid until the next call of `occupy`.
    subscript(slot: Int) -> UnsafeMutablePointer<PushEntry> {
        precondition(slot >= 0 && slot < slotCount, "the slot does not exist")
        return unsafe entries + slot
    }

    /// Stores the token in a slot and returns the slot's entry.
    func occupy(slot: Int, token: Span<UInt8>) -> UnsafeMutablePointer<PushEntry> {
        if slot >= slotCount {
            grow(slotCount: max(slot + 1, 2 * slotCount), tokenSlotBytes: tokenSlotBytes)
        }
        let neededBytes = Self.lengthBytes + token.count
        if neededBytes > tokenSlotBytes {
            grow(slotCount: slotCount, tokenSlotBytes: neededBytes.roundedUp(to: 8))
        }
        let tokenSlot = unsafe tokens + slot * tokenSlotBytes
        unsafe tokenSlot.storeBytes(of: token.count, as: Int.self)
        unsafe token.withUnsafeBytes { bytes in
            if let base = bytes.baseAddress {
                unsafe (tokenSlot + Self.lengthBytes).copyMemory(from: base, byteCount: bytes.count)
            }
        }
        return unsafe self[slot]
    }

    /// Returns the token of a slot. It is valid until the next call of `occupy`.
    func token(inSlot slot: Int) -> UnsafeBufferPointer<UInt8> {
        precondition(slot >= 0 && slot < slotCount, "the slot does not exist")
        let tokenSlot = unsafe tokens + slot * tokenSlotBytes
        let start = unsafe (tokenSlot + Self.lengthBytes).assumingMemoryBound(to: UInt8.self)
        return unsafe UnsafeBufferPointer(start: start, count: tokenSlot.load(as: Int.self))
    }

    /// Moves the entries and tokens to larger memory.
    private func grow(slotCount newSlotCount: Int, tokenSlotBytes newTokenSlotBytes: Int) {
        let newEntries = UnsafeMutablePointer<PushEntry>.allocate(capacity: newSlotCount)
        unsafe newEntries.moveInitialize(from: entries, count: slotCount)
        unsafe (newEntries + slotCount).initialize(
            repeating: PushEntry(), count: newSlotCount - slotCount)
        let newTokens = UnsafeMutableRawPointer.allocate(
            byteCount: newSlotCount * newTokenSlotBytes, alignment: 16)
        for slot in 0..<slotCount {
            unsafe (newTokens + slot * newTokenSlotBytes).copyMemory(
                from: tokens + slot * tokenSlotBytes, byteCount: tokenSlotBytes)
        }
        unsafe entries.deallocate()
        unsafe tokens.deallocate()
        unsafe entries = newEntries
        unsafe tokens = newTokens
        slotCount = newSlotCount
        tokenSlotBytes = newTokenSlotBytes
    }
}

extension Int {
    fileprivate func roundedUp(to unit: Int) -> Int { (self + unit - 1) / unit * unit }
}
