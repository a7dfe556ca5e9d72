/// A byte buffer that grows, for bytes that wait for more frames. Its owner limits its size. `removeAll`
/// keeps up to `keptBytesMax` of memory, so that an ordinary stream allocates nothing.
///
/// It has no `deinit`, because it is a part of slots in raw memory. So its owner must call `free()`.
@safe struct GrowingBuffer {
    private(set) var count = 0
    private var capacity = 0
    private var base: UnsafeMutableRawPointer?

    static let keptBytesMax = 8_192
    private static let capacityMin = 1_024

    var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

    mutating func append(_ source: UnsafeRawBufferPointer) {
        if let base = source.baseAddress { unsafe append(base, count: source.count) }
    }

    mutating func append(_ source: UnsafeRawPointer, count byteCount: Int) {
        // An empty buffer has no memory.
        guard byteCount > 0 else { return }
        reserve(additional: byteCount)
        unsafe (base! + count).copyMemory(from: source, byteCount: byteCount)
        count += byteCount
    }

    /// Appends a field in the format of `HeaderFields`: the length of the name and of the value in 16 bits
    /// each (little-endian), the name, the value. The caller's limits keep both below 65,536 bytes.
    mutating func appendField(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        reserve(additional: HeaderFields.lengthsBytes + name.count + value.count)
        let start = unsafe base! + count
        unsafe start.storeBytes(of: UInt16(name.count).littleEndian, as: UInt16.self)
        unsafe start.storeBytes(of: UInt16(value.count).littleEndian, toByteOffset: 2, as: UInt16.self)
        count += HeaderFields.lengthsBytes
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

    private mutating func reserve(additional byteCount: Int) {
        guard count + byteCount > capacity else { return }
        let newCapacity = max(GrowingBuffer.capacityMin, (count + byteCount).roundedUpToPowerOfTwo)
        let newBase = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
        if let base = unsafe base {
            unsafe newBase.copyMemory(from: base, byteCount: count)
            unsafe base.deallocate()
        }
        unsafe base = newBase
        capacity = newCapacity
    }
}

extension Int {
    var roundedUpToPowerOfTwo: Int { self <= 1 ? 1 : 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
