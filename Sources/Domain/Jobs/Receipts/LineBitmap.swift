/// A subset of a sheet's lines, with one bit for each line. It takes lines in any order, unlike `LineSet`. Lines
/// are numbered from 0.
package struct LineBitmap: Sendable, Hashable {
    /// Word `n` has the 64 lines from `64 * n`, the first line in its lowest bit.
    private var words: [UInt64] = []

    package init() {}

    package var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

    package var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    // A word has 64 bits, so 6 bits of a line's number are its position in the word.

    private static func wordIndex(of line: Int) -> Int { line >> 6 }

    private static func bit(of line: Int) -> UInt64 { 1 << UInt64(line & 63) }

    package func contains(_ line: Int) -> Bool {
        let index = Self.wordIndex(of: line)
        return index < words.count && words[index] & Self.bit(of: line) != 0
    }

    package mutating func insert(_ line: Int) {
        let index = Self.wordIndex(of: line)
        while words.count <= index { words.append(0) }
        words[index] |= Self.bit(of: line)
    }

    package mutating func remove(_ line: Int) {
        let index = Self.wordIndex(of: line)
        if index < words.count { words[index] &= ~Self.bit(of: line) }
    }

    package mutating func removeAll() { words.removeAll(keepingCapacity: true) }

    /// Calls `body` with each line, in order.
    package func forEachLine(_ body: (Int) -> Void) {
        for index in words.indices {
            var remaining = words[index]
            while remaining != 0 {
                body((index << 6) + remaining.trailingZeroBitCount)
                // Clears the lowest bit.
                remaining &= remaining - 1
            }
        }
    }

    /// The same subset as ranges.
    package var lineSet: LineSet {
        var set = LineSet()
        forEachLine { set.append($0) }
        return set
    }
}
