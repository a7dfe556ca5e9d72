/// The header fields of one message, as a range of the bytes of a batch (`OutcomeBatch`, `RequestBatch`).
///
/// A field is the length of the name and the length of the value (16 bits each, little-endian), the name, and
/// the value. Names are lower case, as HTTP/2 requires.
package struct HeaderFields: Sequence {
    let bytes: [UInt8]
    let range: Range<Int>

    /// The bytes of the two lengths in front of a field.
    static let lengthsBytes = 4

    package init(bytes: [UInt8], range: Range<Int>) {
        self.bytes = bytes
        self.range = range
    }

    package struct Field {
        package let name: ArraySlice<UInt8>
        package let value: ArraySlice<UInt8>
    }

    package struct Iterator: IteratorProtocol {
        var rest: ArraySlice<UInt8>

        package mutating func next() -> Field? {
            guard rest.count >= lengthsBytes else { return nil }
            let lengthsStart = rest.startIndex
            let nameStart = lengthsStart + lengthsBytes
            let nameEnd = nameStart + HeaderFields.length(in: rest, at: lengthsStart)
            let valueEnd = nameEnd + HeaderFields.length(in: rest, at: lengthsStart + 2)
            defer { rest = rest[valueEnd...] }
            return Field(name: rest[nameStart..<nameEnd], value: rest[nameEnd..<valueEnd])
        }
    }

    package func makeIterator() -> Iterator { Iterator(rest: bytes[range]) }

    /// The first value with this name, or nil.
    package subscript(name: StaticString) -> ArraySlice<UInt8>? {
        guard let valueRange = HeaderFields.find(name, in: bytes, range: range) else { return nil }
        return bytes[valueRange]
    }

    private static func length(in bytes: ArraySlice<UInt8>, at offset: Int) -> Int {
        Int(UInt16(bytes[offset]) | UInt16(bytes[offset + 1]) << 8)
    }

    static func length(in bytes: [UInt8], at offset: Int) -> Int {
        Int(UInt16(bytes[offset]) | UInt16(bytes[offset + 1]) << 8)
    }

    /// Returns the range of the first value with this name in `bytes`, without touching a reference count.
    static func find(_ name: StaticString, in bytes: [UInt8], range: Range<Int>) -> Range<Int>? {
        let nameBytes = unsafe UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        return unsafe bytes.withUnsafeBytes { bytes in
            var lengthsStart = range.lowerBound
            while lengthsStart + lengthsBytes <= range.upperBound {
                let nameStart = lengthsStart + lengthsBytes
                let nameEnd = unsafe nameStart + length(in: bytes, at: lengthsStart)
                let valueEnd = unsafe nameEnd + length(in: bytes, at: lengthsStart + 2)
                if nameEnd - nameStart == nameBytes.count,
                    unsafe bytes[nameStart..<nameEnd].elementsEqual(nameBytes)
                {
                    return nameEnd..<valueEnd
                }
                lengthsStart = valueEnd
            }
            return nil
        }
    }

    @inline(__always)
    private static func length(in bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
        Int(UInt16(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
    }
}
