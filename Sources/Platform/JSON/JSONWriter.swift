internal import CSimdJSON

/// A writer of JSON documents into a reusable buffer. It adds commas and escapes. It allocates nothing per
/// field and, after the buffer has grown, nothing per document.
///
/// The caller must call the methods in a valid order, such as `beginObject`, `name`, `value`, `endObject`.
/// The writer checks the nesting only where a check costs nothing.
@usableFromInline
@safe package struct JSONWriter: ~Copyable {
    @usableFromInline var buffer: UnsafeMutableRawPointer
    @usableFromInline var capacity: Int
    /// The bytes written since the start or the last `removeAll`.
    @usableFromInline package internal(set) var count = 0
    /// Whether a comma precedes the next name or value.
    @usableFromInline var needsComma = false
    /// The number of open objects and arrays.
    @usableFromInline var depth = 0

    package init(capacity: Int = 1024) {
        precondition(capacity > 0)
        self.capacity = capacity
        unsafe buffer = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit { unsafe buffer.deallocate() }

    /// Removes all documents and reuses the buffer.
    package mutating func removeAll() {
        count = 0
        needsComma = false
        depth = 0
    }

    /// Begins another document in the same buffer. The caller tells the documents apart by `count` before and
    /// after each.
    package mutating func beginNextDocument() {
        precondition(depth == 0, "a JSON document is not finished")
        needsComma = false
    }

    /// Calls `body` with the written bytes.
    package borrowing func withBytes<R, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        precondition(depth == 0, "a JSON document is not finished")
        return try unsafe body(UnsafeRawBufferPointer(start: buffer, count: count))
    }

    /// A copy of the written bytes.
    package var bytes: [UInt8] { unsafe withBytes { bytes in unsafe Array(bytes) } }

    // MARK: Structure

    @inlinable package mutating func beginObject() { openBracket(UInt8(ascii: "{")) }
    @inlinable package mutating func endObject() { closeBracket(UInt8(ascii: "}")) }
    @inlinable package mutating func beginArray() { openBracket(UInt8(ascii: "[")) }
    @inlinable package mutating func endArray() { closeBracket(UInt8(ascii: "]")) }

    /// Writes the name of the next member. The name comes from the program and must not need an escape.
    @inlinable @inline(always)
    package mutating func name(_ name: StaticString) {
        let length = name.utf8CodeUnitCount
        // Four bytes for the comma, the quotes and the colon.
        reserve(byteCount: length + 4)
        putComma()
        let out = unsafe buffer + count
        unsafe out.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        unsafe (out + 1).copyMemory(from: name.utf8Start, byteCount: length)
        unsafe (out + 1 + length).storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        unsafe (out + 2 + length).storeBytes(of: UInt8(ascii: ":"), as: UInt8.self)
        count &+= 3 &+ length
        needsComma = false
    }

    /// Writes a name that is data, with escapes.
    package mutating func name(_ name: String) {
        value(name)
        put(UInt8(ascii: ":"))
        needsComma = false
    }

    @inlinable @inline(always)
    mutating func openBracket(_ bracket: UInt8) {
        reserve(byteCount: 2)
        putComma()
        put(bracket)
        depth &+= 1
        needsComma = false
    }

    @inlinable @inline(always)
    mutating func closeBracket(_ bracket: UInt8) {
        precondition(depth > 0, "a JSON bracket closes that was not opened")
        depth &-= 1
        put(bracket)
        needsComma = true
    }

    /// Writes a comma if one is due. The buffer must have space for it. Without a branch: the byte is always
    /// written, and counted only if it is due.
    @inlinable @inline(always)
    mutating func putComma() {
        unsafe buffer.storeBytes(of: UInt8(ascii: ","), toByteOffset: count, as: UInt8.self)
        count &+= needsComma ? 1 : 0
    }

    // MARK: Values

    @inlinable package mutating func null() { writeWord("null") }
    @inlinable
    package mutating func value(_ value: Bool) { if value { writeWord("true") } else { writeWord("false") } }

    @inlinable package mutating func value(_ value: Int) { self.value(Int64(value)) }
    @usableFromInline package mutating func value(_ value: UInt64) {
        writeInteger(magnitude: value, isNegative: false)
    }
    @usableFromInline package mutating func value(_ value: Int64) {
        writeInteger(magnitude: value.magnitude, isNegative: value < 0)
    }

    private mutating func writeInteger(magnitude: UInt64, isNegative: Bool) {
        // Two bytes for the comma and the sign.
        reserve(byteCount: 2 + DecimalDigits.bufferBytes)
        putComma()
        unsafe buffer.storeBytes(of: UInt8(ascii: "-"), toByteOffset: count, as: UInt8.self)
        count &+= isNegative ? 1 : 0
        unsafe count &+= DecimalDigits.write(magnitude, to: buffer + count)
        needsComma = true
    }

    /// Writes the shortest text that reads back as the same value. Infinity and "not a number" have no JSON
    /// form and become null.
    @usableFromInline package mutating func value(_ value: Double) {
        guard value.isFinite else { return null() }
        reserve(byteCount: 1 + Int(JSON_DOUBLE_BYTES_MAX))
        putComma()
        needsComma = true
        unsafe count += json_write_double(value, (buffer + count).assumingMemoryBound(to: CChar.self))
    }

    @usableFromInline package mutating func value(_ value: String) { self.value(prefix: "", rest: value) }

    /// Writes one string that is made of two parts. `prefix` must not need an escape.
    @usableFromInline package mutating func value(prefix: StaticString, rest: String) {
        let written: Void? = unsafe rest.utf8.withContiguousStorageIfAvailable { rest in
            unsafe writeQuoted(prefix: prefix, bytes: UnsafeRawBufferPointer(rest))
        }
        if written != nil { return }
        // A string that is not contiguous is copied first.
        var rest = rest
        rest.withUTF8 { rest in unsafe writeQuoted(prefix: prefix, bytes: UnsafeRawBufferPointer(rest)) }
    }

    @usableFromInline package mutating func value(_ value: StaticString) {
        unsafe writeQuoted(
            prefix: "", bytes: UnsafeRawBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount))
    }

    /// Writes a string from bytes. Invalid UTF-8 is replaced by U+FFFD.
    @usableFromInline package mutating func value(utf8 bytes: UnsafeRawBufferPointer) {
        if unsafe JSONEscaping.isASCII(bytes) {
            unsafe writeQuoted(prefix: "", bytes: bytes)
        } else {
            unsafe value(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Writes bytes that are already a JSON value, such as `JSONValue.raw`, unchanged.
    package mutating func raw(_ bytes: UnsafeRawBufferPointer) {
        unsafe precondition(!bytes.isEmpty, "an empty text is not a JSON value")
        unsafe copy(bytes)
    }

    // MARK: Bytes

    @inlinable @inline(always)
    mutating func writeWord(_ word: StaticString) {
        let length = word.utf8CodeUnitCount
        reserve(byteCount: length + 1)
        putComma()
        unsafe (buffer + count).copyMemory(from: word.utf8Start, byteCount: length)
        count &+= length
        needsComma = true
    }

    @inlinable @inline(always)
    mutating func put(_ byte: UInt8) {
        reserve(byteCount: 1)
        unsafe buffer.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count &+= 1
    }

    private mutating func copy(_ bytes: UnsafeRawBufferPointer) {
        reserve(byteCount: bytes.count + 1)
        putComma()
        unsafe UnsafeMutableRawBufferPointer(start: buffer + count, count: bytes.count).copyMemory(
            from: bytes)
        count += bytes.count
        needsComma = true
    }

    private mutating func writeQuoted(prefix: StaticString, bytes: UnsafeRawBufferPointer) {
        let length = prefix.utf8CodeUnitCount
        // Three bytes for the comma and the quotes.
        reserve(byteCount: length + bytes.count * JSONEscaping.growthMax + 3 + JSONEscaping.overrunBytes)
        putComma()
        var out = unsafe buffer + count
        unsafe out.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        unsafe out += 1
        if length > 0 {
            unsafe out.copyMemory(from: prefix.utf8Start, byteCount: length)
            unsafe out += length
        }
        unsafe out += JSONEscaping.write(bytes, to: out)
        unsafe out.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        unsafe count = out + 1 - buffer
        needsComma = true
    }

    @inlinable @inline(always)
    mutating func reserve(byteCount: Int) {
        if count &+ byteCount > capacity { grow(toBytes: count &+ byteCount) }
    }

    @usableFromInline @inline(never)
    mutating func grow(toBytes byteCount: Int) {
        while capacity < byteCount { capacity *= 2 }
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        unsafe larger.copyMemory(from: buffer, byteCount: count)
        unsafe buffer.deallocate()
        unsafe buffer = larger
    }
}
