internal import CSimdJSON
internal import Glibc

/// Writes JSON into a buffer of its own that is used again and again: nothing is allocated per field
/// or, once it has grown, per document. Commas and escapes are its business; what it writes reads
/// back as the same values. It checks that brackets and names come in pairs only as far as that is
/// free: the calls' order is the caller's promise.
@safe package struct JSONWriter: ~Copyable {
    private var buffer: UnsafeMutableRawPointer
    private var capacity: Int
    /// Bytes written since the start or the last `removeAll`.
    package private(set) var count = 0
    private var needsComma = false
    private var depth = 0

    package init(capacity: Int = 1024) {
        precondition(capacity > 0)
        self.capacity = capacity
        unsafe buffer = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit { unsafe buffer.deallocate() }

    /// Begins the next document in the same buffer.
    package mutating func removeAll() {
        count = 0
        needsComma = false
        depth = 0
    }

    /// Begins a document behind the finished ones: many in one buffer, told apart by the counts before and
    /// after each.
    package mutating func beginNext() {
        precondition(depth == 0, "a JSON document is not finished")
        needsComma = false
    }

    /// What was written, borrowed for the call.
    package borrowing func withBytes<R, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        precondition(depth == 0, "a JSON document is not finished")
        return try unsafe body(UnsafeRawBufferPointer(start: buffer, count: count))
    }

    /// A copy of what was written.
    package var bytes: [UInt8] { unsafe withBytes { bytes in unsafe Array(bytes) } }

    // MARK: Structure

    package mutating func beginObject() { open("{") }
    package mutating func endObject() { close("}") }
    package mutating func beginArray() { open("[") }
    package mutating func endArray() { close("]") }

    /// The name of the member whose value is written next: letters of the program, which need no escape.
    package mutating func name(_ name: StaticString) {
        let length = name.utf8CodeUnitCount
        reserve(length + 4)
        var out = unsafe buffer + count
        if needsComma {
            unsafe out.storeBytes(of: UInt8(ascii: ","), as: UInt8.self)
            unsafe out += 1
        }
        unsafe out.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        unsafe (out + 1).copyMemory(from: name.utf8Start, byteCount: length)
        unsafe (out + 1 + length).storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        unsafe (out + 2 + length).storeBytes(of: UInt8(ascii: ":"), as: UInt8.self)
        unsafe count = out + 3 + length - buffer
        needsComma = false
    }

    package mutating func name(_ name: String) {
        startValue()
        quoted(name)
        put(":")
        needsComma = false
    }

    private mutating func open(_ bracket: Unicode.Scalar) {
        startValue()
        put(bracket)
        depth += 1
        needsComma = false
    }

    private mutating func close(_ bracket: Unicode.Scalar) {
        precondition(depth > 0, "more brackets close than open")
        depth -= 1
        put(bracket)
        needsComma = true
    }

    private mutating func startValue() {
        if needsComma { put(",") }
        needsComma = true
    }

    // MARK: Values

    package mutating func null() { word("null") }
    package mutating func value(_ value: Bool) { word(value ? "true" : "false") }

    package mutating func value(_ value: Int) { self.value(Int64(value)) }
    package mutating func value(_ value: UInt64) { integer(value, negative: false) }
    package mutating func value(_ value: Int64) { integer(value.magnitude, negative: value < 0) }

    private mutating func integer(_ magnitude: UInt64, negative: Bool) {
        startValue()
        if negative { put("-") }
        reserve(Decimal.digitsMax)
        unsafe count += Decimal.write(magnitude, to: buffer + count)
    }

    /// The shortest text that reads back as the same value. JSON has no word for infinity and "not a
    /// number": they become null.
    package mutating func value(_ value: Double) {
        guard value.isFinite else { return null() }
        startValue()
        reserve(Int(JSON_DOUBLE_BYTES_MAX))
        unsafe count += json_write_double(value, (buffer + count).assumingMemoryBound(to: CChar.self))
    }

    package mutating func value(_ value: String) {
        startValue()
        quoted(value)
    }

    package mutating func value(_ value: StaticString) {
        startValue()
        unsafe quoted(UnsafeRawBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount))
    }

    /// A string from bytes; what in them is not UTF-8 is replaced by U+FFFD.
    package mutating func value(utf8 bytes: UnsafeRawBufferPointer) {
        startValue()
        if unsafe Escaping.isASCII(bytes) {
            unsafe quoted(bytes)
        } else {
            unsafe quoted(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Bytes that already are a JSON value, such as `JSONValue.raw`: handed on as they are.
    package mutating func raw(_ bytes: UnsafeRawBufferPointer) {
        unsafe precondition(!bytes.isEmpty, "nothing is no JSON value")
        startValue()
        unsafe copy(bytes)
    }

    // MARK: Bytes

    private mutating func word(_ word: StaticString) {
        startValue()
        unsafe copy(UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    private mutating func put(_ character: Unicode.Scalar) {
        reserve(1)
        unsafe buffer.storeBytes(
            of: UInt8(truncatingIfNeeded: character.value), toByteOffset: count, as: UInt8.self)
        count += 1
    }

    private mutating func copy(_ bytes: UnsafeRawBufferPointer) {
        reserve(bytes.count)
        unsafe UnsafeMutableRawBufferPointer(start: buffer + count, count: bytes.count).copyMemory(
            from: bytes)
        count += bytes.count
    }

    private mutating func quoted(_ string: String) {
        var string = string
        string.withUTF8 { utf8 in unsafe quoted(UnsafeRawBufferPointer(utf8)) }
    }

    private mutating func quoted(_ bytes: UnsafeRawBufferPointer) {
        reserve(bytes.count * Escaping.growthMax + 2 + Escaping.slack)
        unsafe buffer.storeBytes(of: UInt8(ascii: "\""), toByteOffset: count, as: UInt8.self)
        count += 1
        unsafe count += Escaping.write(bytes, to: buffer + count)
        unsafe buffer.storeBytes(of: UInt8(ascii: "\""), toByteOffset: count, as: UInt8.self)
        count += 1
    }

    private mutating func reserve(_ wanted: Int) {
        if count + wanted > capacity { grow(count + wanted) }
    }

    private mutating func grow(_ wanted: Int) {
        while capacity < wanted { capacity *= 2 }
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        unsafe larger.copyMemory(from: buffer, byteCount: count)
        unsafe buffer.deallocate()
        unsafe buffer = larger
    }
}
