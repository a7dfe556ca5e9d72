/// The header fields of one message, as a range of a batch's bytes. Each field is two lengths (16 bits,
/// little-endian), the name and the value. Names are lower case, as HTTP/2 requires.
package struct HeaderFields: Sequence {
    let bytes: [UInt8]
    let range: Range<Int>

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
            guard rest.count >= 4 else { return nil }
            let at = rest.startIndex
            let name = at + 4 + HeaderFields.length(in: rest, at: at)
            let value = name + HeaderFields.length(in: rest, at: at + 2)
            defer { rest = rest[value...] }
            return Field(name: rest[(at + 4)..<name], value: rest[name..<value])
        }
    }

    package func makeIterator() -> Iterator { Iterator(rest: bytes[range]) }

    /// The first value with this name, or nil.
    package subscript(name: StaticString) -> ArraySlice<UInt8>? {
        guard let found = HeaderFields.find(name, in: bytes, range: range) else { return nil }
        return bytes[found]
    }

    private static func length(in bytes: ArraySlice<UInt8>, at: Int) -> Int {
        Int(UInt16(bytes[at]) | UInt16(bytes[at + 1]) << 8)
    }

    static func length(in bytes: [UInt8], at: Int) -> Int {
        Int(UInt16(bytes[at]) | UInt16(bytes[at + 1]) << 8)
    }

    /// Returns the range of the first value with this name, without touching a reference count.
    static func find(_ name: StaticString, in bytes: [UInt8], range: Range<Int>) -> Range<Int>? {
        let wanted = unsafe UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        return unsafe bytes.withUnsafeBytes { all in
            var at = range.lowerBound
            while at + 4 <= range.upperBound {
                let nameCount = Int(
                    UInt16(littleEndian: unsafe all.loadUnaligned(fromByteOffset: at, as: UInt16.self)))
                let valueCount = Int(
                    UInt16(littleEndian: unsafe all.loadUnaligned(fromByteOffset: at + 2, as: UInt16.self)))
                let value = at + 4 + nameCount
                if nameCount == wanted.count,
                    unsafe all[(at + 4)..<value].elementsEqual(wanted)
                {
                    return value..<(value + valueCount)
                }
                at = value + valueCount
            }
            return nil
        }
    }
}
