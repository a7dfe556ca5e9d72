/// A subset of a sheet's lines, one bit for each line.
package struct LineBitmap: Sendable, Hashable {
    private var words: [UInt64] = []

    package init() {}

    package init(lines: LineSet) { lines.forEachLine { insert($0) } }

    package var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

    package var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    package func contains(_ line: Int) -> Bool {
        let word = line >> 6
        return word < words.count && words[word] & (1 << UInt64(line & 63)) != 0
    }

    package mutating func insert(_ line: Int) {
        let word = line >> 6
        while words.count <= word { words.append(0) }
        words[word] |= 1 << UInt64(line & 63)
    }

    package mutating func remove(_ line: Int) {
        let word = line >> 6
        if word < words.count { words[word] &= ~(1 << UInt64(line & 63)) }
    }

    package mutating func removeAll() { words.removeAll(keepingCapacity: true) }

    /// Calls `body` with each line, in order.
    package func forEachLine(_ body: (Int) -> Void) {
        for index in words.indices {
            var word = words[index]
            while word != 0 {
                body(index << 6 + word.trailingZeroBitCount)
                word &= word - 1
            }
        }
    }

    package var lineSet: LineSet {
        var set = LineSet()
        forEachLine { set.append($0) }
        return set
    }
}
