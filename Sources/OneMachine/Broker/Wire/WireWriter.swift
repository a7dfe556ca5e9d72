internal import Glibc

/// Writes the fields of responses and stored records into one buffer that grows and is used again.
///
/// Like `WireReader` it follows `flexible`, so a codec names its fields once. A string longer than
/// the encoding can say is cut, because names in it may come from clients. It must never be asked
/// for an array that long: those lengths are ours, so that is a broken promise and traps.
@safe
package struct WireWriter: ~Copyable {
    private var base: UnsafeMutableRawPointer
    private var capacity: Int
    package private(set) var count = 0
    package var flexible: Bool

    package init(capacity: Int = 512, flexible: Bool = false) {
        self.capacity = max(64, capacity)
        unsafe self.base = .allocate(byteCount: self.capacity, alignment: 16)
        self.flexible = flexible
    }

    deinit { unsafe base.deallocate() }

    /// Forgets all written bytes and releases memory above `keeping` bytes.
    package mutating func reset(keeping: Int = 1 << 20) {
        count = 0
        guard capacity > keeping else { return }
        unsafe base.deallocate()
        capacity = max(64, keeping)
        unsafe base = .allocate(byteCount: capacity, alignment: 16)
    }

    /// Returns uninitialized space for `extra` bytes behind the written ones. `commit` adds them.
    package mutating func reserve(byteCount extra: Int) {
        let wanted = count + extra
        guard wanted > capacity else { return }
        let grown = max(wanted, capacity * 2)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: grown, alignment: 16)
        unsafe moved.copyMemory(from: base, byteCount: count)
        unsafe base.deallocate()
        unsafe base = unsafe moved
        capacity = grown
    }

    /// Lets `fill` write up to `limit` bytes behind the written ones. It returns their number.
    package mutating func append<Failure: Error>(
        upTo limit: Int, fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        reserve(byteCount: limit)
        let room = unsafe UnsafeMutableRawBufferPointer(start: base + count, count: limit)
        let written = try unsafe fill(room)
        precondition(written >= 0 && written <= limit, "a filler wrote beyond its room")
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

    private mutating func putInteger<Number: FixedWidthInteger>(_ value: Number) {
        reserve(byteCount: MemoryLayout<Number>.size)
        unsafe (base + count).storeBytes(of: value.bigEndian, as: Number.self)
        count += MemoryLayout<Number>.size
    }

    /// Writes `value` over four bytes written before: lengths that are known only at the end.
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
        var left = value
        while left >= 0x80 {
            putInteger(UInt8(truncatingIfNeeded: left) | 0x80)
            left >>= 7
        }
        putInteger(UInt8(left))
    }

    private mutating func stringLength(_ length: Int) {
        if flexible { unsignedVarint(UInt32(length + 1)) } else { int16(Int16(length)) }
    }

    /// Length of bytes, or count of an array; -1 is null.
    package mutating func longLength(_ length: Int) {
        if flexible { unsignedVarint(UInt32(length + 1)) } else { int32(Int32(length)) }
    }

    package mutating func nullableString(_ value: String?) {
        putString(value, bytesMax: flexible ? .max : WireReader.stringBytesMax)
    }

    package mutating func string(_ value: String) { nullableString(value) }

    /// A sentence for people, which may repeat a name as long as a client likes; its end is cut.
    package mutating func message(_ value: String?) { putString(value, bytesMax: Self.messageBytesMax) }

    package static let messageBytesMax = 1_024

    private mutating func putString(_ value: String?, bytesMax: Int) {
        guard var value else { return stringLength(-1) }
        value.withUTF8 { utf8 in
            var length = min(utf8.count, bytesMax)
            // Not within a character: bytes that continue one begin with the bits 10.
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
        for each in elements { element(&self, each) }
    }

    package mutating func nullArray() { longLength(-1) }

    /// Closes a structure of a flexible version: we send no tagged fields.
    package mutating func emptyTags() {
        if flexible { unsignedVarint(0) }
    }
}
