/// A number in a key. It takes as many bytes as it needs, and the bytes sort like the numbers. No number's
/// bytes are a prefix of another's.
enum OrderedNumber {
    private static let oneByteMax = 0xF0

    static func append(_ number: Int, to key: inout [UInt8]) {
        precondition(number >= 0, "a number in a key must not be negative")
        if number < oneByteMax { return key.append(UInt8(number)) }
        let bytes = (Int.bitWidth - number.leadingZeroBitCount + 7) / 8
        key.append(UInt8(oneByteMax + bytes))
        key.append(number: Int64(number), bytes: bytes)
    }

    static func read(_ key: Span<UInt8>, at offset: inout Int) -> Int {
        let first = Int(key[offset])
        offset += 1
        if first < oneByteMax { return first }
        let bytes = first - oneByteMax
        defer { offset += bytes }
        return Int(key.number(at: offset, bytes: bytes))
    }
}
