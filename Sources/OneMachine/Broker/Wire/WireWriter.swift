internal import Glibc

/// A writer of the fields of answers and stored records, into one buffer that grows and can be used again.
///
/// A string that is too long for the encoding is cut, because it may come from a client. An array that is too long
/// traps, because the broker alone makes arrays.
@safe
package struct WireWriter: ~Copyable {
    private var base: UnsafeMutableRawPointer
    private var capacity: Int
    /// Number of written bytes.
    package private(set) var count = 0
    package var encoding: WireEncoding

    private static let capacityMin = 64

    package init(capacity: Int = 512, encoding: WireEncoding = .classic) {
        self.capacity = max(Self.capacityMin, capacity)
        unsafe self.base = .allocate(byteCount: self.capacity, alignment: 16)
        self.encoding = encoding
    }

    deinit { unsafe base.deallocate() }

    /// Forgets all written bytes and releases memory above `keeping` bytes.
    package mutating func reset(keeping: Int = 1 << 20) {
        count = 0
        guard capacity > keeping else { return }
        unsafe base.deallocate()
        capacity = max(Self.capacityMin, keeping)
        unsafe base = .allocate(byteCount: capacity, alignment: 16)
    }

    /// Makes sure that there is memory for `extra` bytes behind the written ones.
    package mutating func reserve(byteCount extra: Int) {
        let needed = count + extra
        guard needed > capacity else { return }
        let newCapacity = max(needed, capacity * 2)
        let newBase = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
        unsafe newBase.copyMemory(from: base, byteCount: count)
        unsafe base.deallocate()
        unsafe base = unsafe newBase
        capacity = newCapacity
    }

    /// Lets `fill` write up to `limit` bytes behind the written ones. `fill` returns their number.
    package mutating func append<Failure: Error>(
        upTo limit: Int, fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        reserve(byteCount: limit)
        let space = unsafe UnsafeMutableRawBufferPointer(start: base + count, count: limit)
        let written = try unsafe fill(space)
        precondition(written >= 0 && written <= limit, "a filler wrote beyond its space")
        count += written
    }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return }
        reserve(byteCount: bytes.count)
        unsafe (base + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    package mutating func append(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe append($0) }
    }

    /// Inserts bytes at `offset`, between written bytes.
    package mutating func insert(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        precondition(offset >= 0 && offset <= count, "an insertion is outside the written bytes")
        guard let source = bytes.baseAddress, bytes.count > 0 else { return }
        reserve(byteCount: bytes.count)
        unsafe (base + offset + bytes.count).copyMemory(from: base + offset, byteCount: count - offset)
        unsafe (base + offset).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    /// Removes the bytes behind `length`.
    package mutating func truncate(to length: Int) {
        precondition(length >= 0 && length <= count, "a truncation is outside the written bytes")
        count = length
    }

    package borrowing func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(start: base, count: count))
    }

    package borrowing func copied() -> [UInt8] { unsafe withBytes { unsafe [UInt8]($0) } }

    /// Writes a big-endian number.
    private mutating func putInteger<Number: FixedWidthInteger>(_ value: Number) {
        reserve(byteCount: MemoryLayout<Number>.size)
        unsafe (base + count).storeBytes(of: value.bigEndian, as: Number.self)
        count += MemoryLayout<Number>.size
    }

    /// Writes `value` over four bytes that were written before, such as a length that is known only at the
    /// end.
    package mutating func patch(int32 value: Int32, at offset: Int) {
        precondition(offset >= 0 && offset + 4 <= count, "a patch is outside the written bytes")
        unsafe (base + offset).storeBytes(of: value.bigEndian, as: Int32.self)
    }
}

extension WireWriter {
    package mutating func int8(_ value: Int8) { putInteger(value) }
    package mutating func int16(_ value: Int16) { putInteger(value) }
    package mutating func int32(_ value: Int32) { putInteger(value) }
    package mutating func int64(_ value: Int64) { putInteger(value) }
    package mutating func uint16(_ value: UInt16) { putInteger(value) }
    package mutating func uint32(_ value: UInt32) { putInteger(value) }
    package mutating func bool(_ value: Bool) { putInteger(value ? 1 : 0 as UInt8) }
    package mutating func error(_ code: ErrorCode) { putInteger(code.rawValue) }

    package mutating func uuid(_ value: TopicID) {
        putInteger(value.high)
        putInteger(value.low)
    }

    package mutating func unsignedVarint(_ value: UInt32) {
        var remainingBits = value
        while remainingBits >= 0x80 {
            putInteger(UInt8(truncatingIfNeeded: remainingBits) | 0x80)
            remainingBits >>= 7
        }
        putInteger(UInt8(remainingBits))
    }

    private mutating func stringLength(_ length: Int) {
        if encoding == .compact { unsignedVarint(UInt32(length + 1)) } else { int16(Int16(length)) }
    }

    /// Writes the length of bytes or the count of an array; -1 is null.
    package mutating func longLength(_ length: Int) {
        if encoding == .compact { unsignedVarint(UInt32(length + 1)) } else { int32(Int32(length)) }
    }

    package mutating func nullableString(_ value: String?) {
        putString(value, bytesMax: encoding == .compact ? .max : WireReader.stringBytesMax)
    }

    package mutating func string(_ value: String) { nullableString(value) }

    package static let messageBytesMax = 1_024

    /// Writes a sentence for people. Its end is cut, because it may contain a long name from a client.
    package mutating func message(_ value: String?) { putString(value, bytesMax: Self.messageBytesMax) }

    private mutating func putString(_ value: String?, bytesMax: Int) {
        guard var value else { return stringLength(-1) }
        value.withUTF8 { utf8 in
            var length = min(utf8.count, bytesMax)
            // The cut must not divide a character. The bytes within one begin with the bits 10.
            while length > 0, length < utf8.count, unsafe utf8[length] & 0xc0 == 0x80 { length -= 1 }
            stringLength(length)
            unsafe append(UnsafeRawBufferPointer(start: utf8.baseAddress, count: length))
        }
    }

    package mutating func nullableBytes(_ value: [UInt8]?) {
        guard let value else { return longLength(-1) }
        longLength(value.count)
        unsafe value.withUnsafeBytes { unsafe append($0) }
    }

    package mutating func bytes(_ value: [UInt8]) { nullableBytes(value) }

    package mutating func array<Elements: Collection>(
        _ elements: Elements, element: (inout WireWriter, Elements.Element) -> Void
    ) {
        longLength(elements.count)
        for value in elements { element(&self, value) }
    }

    package mutating func nullArray() { longLength(-1) }

    /// Ends a structure, with an empty list of tagged fields in the compact encoding.
    package mutating func emptyTags() {
        if encoding == .compact { unsignedVarint(0) }
    }

    /// Writes the field `throttle_time_ms`, which is always 0, because this broker has no quotas.
    package mutating func zeroThrottleTime() { int32(0) }
}
