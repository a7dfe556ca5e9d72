/// Reads the fields of one request, front to back, from bytes that it borrows.
///
/// `flexible` chooses between the two encodings of Kafka's schemas (classic lengths, or compact
/// ones with tagged fields), so that a codec names its fields once and serves both. Nothing here
/// traps on what it reads, and nothing is allocated before the bytes that pay for it were seen:
/// an array costs at least a byte an element, and a whole request has at most `elementsMax` of them.
@safe
package struct WireReader {
    /// Elements of all arrays of one request together, so that empty elements cannot turn a
    /// request of 100 MiB into gigabytes of values.
    package static let elementsMax = 200_000
    /// Kafka's own limit for every string of its protocol.
    package static let stringBytesMax = 0x7fff

    private let source: UnsafeRawBufferPointer
    private var position: Int
    private var elementsLeft: Int
    package var flexible: Bool

    /// The bytes must outlive the reader; a codec never stores either.
    @unsafe package init(
        borrowing bytes: UnsafeRawBufferPointer, flexible: Bool = false,
        elementsMax: Int = WireReader.elementsMax
    ) {
        unsafe self.source = unsafe bytes
        self.elementsLeft = elementsMax
        self.position = 0
        self.flexible = flexible
    }

    package var remaining: Int { unsafe source.count - position }

    /// Position of the next field, from the first byte of the reader.
    package var offset: Int { position }

    /// Gives `count` bytes to `body` without copying them.
    private mutating func take<Value>(
        _ count: Int, body: (UnsafeRawBufferPointer) -> Value
    ) throws(WireError) -> Value {
        guard count >= 0 else { throw .negativeLength(count) }
        guard count <= remaining else { throw .truncated(wanted: count, left: remaining) }
        let start = position
        position += count
        return unsafe body(UnsafeRawBufferPointer(rebasing: source[start..<start + count]))
    }

    private mutating func fixed<Number: FixedWidthInteger & BitwiseCopyable>() throws(WireError) -> Number {
        let value = try unsafe take(MemoryLayout<Number>.size) { unsafe $0.loadUnaligned(as: Number.self) }
        return Number(bigEndian: value)
    }

    package mutating func int8() throws(WireError) -> Int8 { try fixed() }
    package mutating func int16() throws(WireError) -> Int16 { try fixed() }
    package mutating func int32() throws(WireError) -> Int32 { try fixed() }
    package mutating func int64() throws(WireError) -> Int64 { try fixed() }
    package mutating func uint16() throws(WireError) -> UInt16 { try fixed() }
    package mutating func uint32() throws(WireError) -> UInt32 { try fixed() }

    package mutating func bool() throws(WireError) -> Bool {
        let byte: UInt8 = try fixed()
        guard byte <= 1 else { throw .badBoolean(byte) }
        return byte == 1
    }

    package mutating func uuid() throws(WireError) -> TopicID {
        TopicID(high: try fixed(), low: try fixed())
    }

    /// Little-endian groups of seven bits, as everywhere in the compact encoding.
    package mutating func unsignedVarint() throws(WireError) -> UInt32 {
        var value: UInt32 = 0
        for shift in stride(from: UInt32(0), through: 28, by: 7) {
            let byte: UInt8 = try fixed()
            guard shift < 28 || byte < 0x10 else { throw .varintTooLong }
            value |= UInt32(byte & 0x7f) << shift
            if byte < 0x80 { return value }
        }
        throw .varintTooLong
    }

    /// Length of a string (classic: 16 bits), nil for null.
    private mutating func stringLength() throws(WireError) -> Int? {
        if flexible { return try compactLength() }
        let length = try int16()
        return try Self.validLength(Int(length))
    }

    /// Length of bytes or count of an array (classic: 32 bits), nil for null.
    private mutating func longLength() throws(WireError) -> Int? {
        if flexible { return try compactLength() }
        let length = try int32()
        return try Self.validLength(Int(length))
    }

    private mutating func compactLength() throws(WireError) -> Int? {
        let raw = try unsignedVarint()
        return raw == 0 ? nil : Int(raw) - 1
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
    /// Bytes that are not UTF-8 are repaired, as Kafka does: a wrong name is then an unknown name.
    /// Compact lengths and repairs can make a string longer than the classic encoding can say; such
    /// a one is refused, because names come back in answers.
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

    /// Skips the tagged fields that close every structure of a flexible version; none is needed here.
    package mutating func skipTags() throws(WireError) {
        guard flexible else { return }
        let count = Int(try unsignedVarint())
        guard count <= remaining / 2 else { throw .tooManyElements(count) }
        for _ in 0..<count {
            _ = try unsignedVarint()
            let length = Int(try unsignedVarint())
            try unsafe take(length) { _ in }
        }
    }

    /// Decodes a value from an array: for stored records and for tests.
    package static func read<Value>(
        _ bytes: [UInt8], flexible: Bool = false, elementsMax: Int = WireReader.elementsMax,
        body: (inout WireReader) throws(WireError) -> Value
    ) throws(WireError) -> Value {
        let result: Result<Value, WireError> = unsafe bytes.withUnsafeBytes { raw in
            var reader = unsafe WireReader(borrowing: raw, flexible: flexible, elementsMax: elementsMax)
            do throws(WireError) {
                return .success(try body(&reader))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
