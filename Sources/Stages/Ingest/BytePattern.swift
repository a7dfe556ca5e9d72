/// A sequence of bytes to search for, with the algorithm of Horspool: after a mismatch the search skips to the next
/// position at which the last byte can match. It reads a small part of a long record.
struct BytePattern: Sendable {
    private let bytes: [UInt8]
    /// For each byte, the distance by which the search moves if this byte is under the end of the pattern.
    private let skips: [Int]

    /// - Parameter bytes: at least one byte.
    init(_ bytes: [UInt8]) {
        precondition(!bytes.isEmpty, "an empty pattern occurs everywhere")
        self.bytes = bytes
        var skips = Array(repeating: bytes.count, count: 1 << UInt8.bitWidth)
        for (index, byte) in bytes.dropLast().enumerated() { skips[Int(byte)] = bytes.count - 1 - index }
        self.skips = skips
    }

    /// Whether the text contains the pattern.
    func occurs(in text: Span<UInt8>) -> Bool {
        let last = bytes.count - 1
        var end = last
        while end < text.count {
            var index = last
            while text[end - last + index] == bytes[index] {
                if index == 0 { return true }
                index -= 1
            }
            end += skips[Int(text[end])]
        }
        return false
    }
}
