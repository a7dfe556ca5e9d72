/// The code of a number in a key. The bytes sort like the numbers, and the code of a number is never a prefix
/// of the code of another. A number below 240 takes one byte. For a greater number the first byte is 240 plus
/// the count of the bytes that follow, which are the number in big-endian order.
enum OrderedNumber {
    private static let oneByteEnd = 240

    static func append(_ number: Int, to key: inout [UInt8]) {
        precondition(number >= 0, "a number in a key must not be negative")
        if number < oneByteEnd { return key.append(UInt8(number)) }
        let byteCount = (Int.bitWidth - number.leadingZeroBitCount + 7) / 8
        key.append(UInt8(oneByteEnd + byteCount))
        key.append(number: Int64(number), byteCount: byteCount)
    }

    /// Reads a number and moves the offset behind it.
    static func read(_ key: Span<UInt8>, at offset: inout Int) -> Int {
        let firstByte = Int(key[offset])
        offset += 1
        if firstByte < oneByteEnd { return firstByte }
        let byteCount = firstByte - oneByteEnd
        let number = key.number(at: offset, byteCount: byteCount)
        offset += byteCount
        return Int(number)
    }
}
