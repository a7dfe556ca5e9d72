/// A growing buffer for one stream's bytes while frames arrive. The owner limits its size. Between streams it
/// frees memory above `keptBytes`, so that an ordinary stream allocates nothing.
///
/// It is stored in a slot of raw memory, so the slot's owner must call `free()`.
@safe struct GrowingBuffer {
    private(set) var count = 0
    private var capacity = 0
    private var base: UnsafeMutableRawPointer?

    static let keptBytesMax = 8_192

    var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

    mutating func append(_ source: UnsafeRawBufferPointer) {
        if let base = source.baseAddress { unsafe append(base, count: source.count) }
    }

    mutating func append(_ source: UnsafeRawPointer, count amount: Int) {
        reserve(additional: amount)
        unsafe (base! + count).copyMemory(from: source, byteCount: amount)
        count += amount
    }

    /// Appends two lengths and two strings in the format of `HeaderFields`. The caller's limits keep each
    /// string below 65,536 bytes.
    mutating func appendField(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        reserve(additional: 4 + name.count + value.count)
        let start = unsafe base! + count
        unsafe start.storeBytes(of: UInt16(name.count).littleEndian, as: UInt16.self)
        unsafe start.storeBytes(of: UInt16(value.count).littleEndian, toByteOffset: 2, as: UInt16.self)
        count += 4
        unsafe append(name)
        unsafe append(value)
    }

    mutating func removeAll() {
        count = 0
        if capacity > GrowingBuffer.keptBytesMax { free() }
    }

    mutating func free() {
        unsafe base?.deallocate()
        unsafe base = nil
        count = 0
        capacity = 0
    }

    private mutating func reserve(additional amount: Int) {
        guard count + amount > capacity else { return }
        let wanted = max(1_024, (count + amount).roundedUpToPowerOfTwo)
        let grown = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
        if let base = unsafe base {
            unsafe grown.copyMemory(from: base, byteCount: count)
            unsafe base.deallocate()
        }
        unsafe base = grown
        capacity = wanted
    }
}

extension Int {
    var roundedUpToPowerOfTwo: Int { self <= 1 ? 1 : 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
