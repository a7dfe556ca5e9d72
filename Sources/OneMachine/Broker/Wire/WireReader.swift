/// A reader of the fields of a request, from front to back, in bytes that it borrows.
///
/// The reader hides the difference between the two encodings, so that a message lists its fields once for both. It
/// never traps on the bytes, and allocates in proportion to them: each element of an array has at least one byte.
@safe
package struct WireReader {
    /// Limit for the elements of all arrays of one request together. Without it, a request of 100 MiB with
    /// small elements could become gigabytes of values.
    package static let elementsMax = 200_000
    /// Kafka's own limit for every string of its protocol.
    package static let stringBytesMax = 0x7fff

    private let source: UnsafeRawBufferPointer
    private var position: Int
    /// The part of `elementsMax` that is left.
    private var elementsLeft: Int
    package var encoding: WireEncoding

    /// The bytes must outlive the reader.
    @unsafe package init(
        borrowing bytes: UnsafeRawBufferPointer, encoding: WireEncoding = .classic,
        elementsMax: Int = WireReader.elementsMax
    ) {
        unsafe self.source = unsafe bytes
        self.elementsLeft = elementsMax
        self.position = 0
        self.encoding = encoding
    }

    package var remaining: Int { unsafe source.count - position }

    /// Position of the next field, from the first byte of the reader.
    package var offset: Int { position }

    /// Gives the next `count` bytes to `body` without a copy.
    private mutating func take<Value>(
        _ count: Int, body: (UnsafeRawBufferPointer) -> Value
    ) throws(WireError) -> Value {
        guard count >= 0 else { throw .negativeLength(count) }
        guard count <= remaining else { throw .truncated(wanted: count, left: remaining) }
        let start = position
        position += count
        return unsafe body(UnsafeRawBufferPointer(rebasing: source[start..<start + count]))
    }

    /// Reads a big-endian number.
    private mutating func integer<Number: FixedWidthInteger & BitwiseCopyable>() throws(WireError) -> Number {
        let value = try unsafe take(MemoryLayout<Number>.size) { unsafe $0.loadUnaligned(as: Number.self) }
        return Number(bigEndian: value)
    }

    package mutating func int8() throws(WireError) -> Int8 { try integer() }
    package mutating func int16() throws(WireError) -> Int16 { try integer() }
    package mutating func int32() throws(WireError) -> Int32 { try integer() }
    package mutating func int64() throws(WireError) -> Int64 { try integer() }
    package mutating func uint16() throws(WireError) -> UInt16 { try integer() }
    package mutating func uint32() throws(WireError) -> UInt32 { try integer() }

    package mutating func bool() throws(WireError) -> Bool {
        let byte: UInt8 = try integer()
        guard byte <= 1 else { throw .badBoolean(byte) }
        return byte == 1
    }

    package mutating func uuid() throws(WireError) -> TopicID {
        TopicID(high: try integer(), low: try integer())
    }

    /// Reads an unsigned LEB128 number: seven bits in each byte, the lowest first, and the high bit set in
    /// all bytes but the last.
    package mutating func unsignedVarint() throws(WireError) -> UInt32 {
        var value: UInt32 = 0
        for shift in stride(from: UInt32(0), through: 28, by: 7) {
            let byte: UInt8 = try integer()
            guard shift < 28 || byte < 0x10 else { throw .varintTooLong }
            value |= UInt32(byte & 0x7f) << shift
            if byte < 0x80 { return value }
        }
        throw .varintTooLong
    }

    /// Reads the length of a string, which has 16 bits in the classic encoding. Returns nil for null.
    private mutating func stringLength() throws(WireError) -> Int? {
        if encoding == .compact { return try compactLength() }
        let length = try int16()
        return try Self.validLength(Int(length))
    }

    /// Reads the length of bytes or the count of an array, which has 32 bits in the classic encoding.
    /// Returns nil for null.
    private mutating func longLength() throws(WireError) -> Int? {
        if encoding == .compact { return try compactLength() }
        let length = try int32()
        return try Self.validLength(Int(length))
    }

    /// Reads a compact length, which is stored plus one; 0 is null.
    private mutating func compactLength() throws(WireError) -> Int? {
        let lengthPlusOne = try unsignedVarint()
        return lengthPlusOne == 0 ? nil : Int(lengthPlusOne) - 1
    }

    private static func validLength(_ length: Int) throws(WireError) -> Int? {
        guard length >= -1 else { throw .negativeLength(length) }
        return length == -1 ? nil : length
    }

    private static func unwrap<Value>(_ value: Value?) throws(WireError) -> Value {
        guard let value else { throw .absentValue }
        return value
    }
}

extension WireReader {
    /// Reads a string. Bytes that are not UTF-8 are replaced, as on Kafka, so a wrong name becomes an unknown
    /// name. A string that is too long for the classic encoding is refused, because answers repeat names. A
    /// string can be that long by its compact length, or by the replacement.
    package mutating func nullableString() throws(WireError) -> String? {
        guard let length = try stringLength() else { return nil }
        guard length <= Self.stringBytesMax else { throw .stringTooLong(length) }
        let value = try unsafe take(length) { unsafe String(decoding: $0, as: UTF8.self) }
        guard value.utf8.count <= Self.stringBytesMax else { throw .stringTooLong(value.utf8.count) }
        return value
    }

    package mutating func string() throws(WireError) -> String {
        try Self.unwrap(try nullableString())
    }

    package mutating func nullableBytes() throws(WireError) -> [UInt8]? {
        guard let length = try longLength() else { return nil }
        return try unsafe take(length) { unsafe [UInt8]($0) }
    }

    package mutating func bytes() throws(WireError) -> [UInt8] {
        try Self.unwrap(try nullableBytes())
    }

    /// Skips bytes and returns their range, for record batches that are read in place.
    package mutating func skipBytes() throws(WireError) -> Range<Int>? {
        guard let length = try longLength() else { return nil }
        let start = position
        try unsafe take(length) { _ in }
        return start..<position
    }

    /// Reads a count, and then each element with `element`. Returns nil for null.
    package mutating func nullableArray<Element>(
        element: (inout WireReader) throws(WireError) -> Element
    ) throws(WireError) -> [Element]? {
        guard let count = try longLength() else { return nil }
        guard count <= remaining, count <= elementsLeft else { throw .tooManyElements(count) }
        elementsLeft -= count
        var elements: [Element] = []
        for _ in 0..<count { elements.append(try element(&self)) }
        return elements
    }

    package mutating func array<Element>(
        element: (inout WireReader) throws(WireError) -> Element
    ) throws(WireError) -> [Element] {
        try Self.unwrap(try nullableArray(element: element))
    }

    /// Skips the tagged fields at the end of a structure, which only the compact encoding has. The broker
    /// uses none of them.
    package mutating func skipTags() throws(WireError) {
        guard encoding == .compact else { return }
        let count = Int(try unsignedVarint())
        let fieldSizeMin = 2
        guard count <= remaining / fieldSizeMin else { throw .tooManyElements(count) }
        for _ in 0..<count {
            _ = try unsignedVarint()  // tag
            let length = Int(try unsignedVarint())
            try unsafe take(length) { _ in }
        }
    }

    /// Decodes a value from an array with a reader that `body` gets. Stored records and tests use it.
    package static func read<Value>(
        _ bytes: [UInt8], encoding: WireEncoding = .classic, elementsMax: Int = WireReader.elementsMax,
        body: (inout WireReader) throws(WireError) -> Value
    ) throws(WireError) -> Value {
        let result: Result<Value, WireError> = unsafe bytes.withUnsafeBytes { buffer in
            var reader = unsafe WireReader(borrowing: buffer, encoding: encoding, elementsMax: elementsMax)
            do throws(WireError) {
                return .success(try body(&reader))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
