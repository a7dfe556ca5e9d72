package import Jobs

/// The lines of one sheet whose jobs have a final receipt, as a bit set. Two processes may have had the same
/// job, so only its first final receipt counts.
package struct FinishedLines: Sendable, Hashable {
    private static let wordBits = 64

    /// Bit 0 of the first word is line 0.
    private var words: [UInt64] = []
    /// The time of the newest receipt, in milliseconds since 1970. Old rows are deleted by it.
    package private(set) var newestReceiptAt: Int64 = 0

    package init() {}

    package var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    /// Adds the lines of a final receipt.
    ///
    /// - Parameter onNewLine: Receives each line that was not finished before.
    package mutating func insert(_ lines: LineSet, at time: Int64, onNewLine: (Int) -> Void) {
        newestReceiptAt = max(newestReceiptAt, time)
        for range in lines.ranges {
            let lastWord = range.upperBound / Self.wordBits
            while words.count <= lastWord { words.append(0) }
            for word in range.lowerBound / Self.wordBits...lastWord {
                let mask = Self.mask(of: range, in: word)
                var newLines = mask & ~words[word]
                words[word] |= mask
                while newLines != 0 {
                    onNewLine(word * Self.wordBits + newLines.trailingZeroBitCount)
                    // Clears the lowest bit that is set.
                    newLines &= newLines - 1
                }
            }
        }
    }

    /// Returns the bits of the range that belong to one word.
    private static func mask(of range: ClosedRange<Int>, in word: Int) -> UInt64 {
        let lowestBit = max(range.lowerBound - word * wordBits, 0)
        let highestBit = min(range.upperBound - word * wordBits, wordBits - 1)
        let upToHighest = highestBit == wordBits - 1 ? UInt64.max : (1 << UInt64(highestBit + 1)) - 1
        let belowLowest: UInt64 = (1 << UInt64(lowestBit)) - 1
        return upToHighest & ~belowLowest
    }
}

extension FinishedLines {
    /// Appends the time, then the bits.
    package func append(to bytes: inout [UInt8]) {
        BigEndian.append(UInt64(newestReceiptAt), to: &bytes)
        for word in words { BigEndian.append(word, to: &bytes) }
    }

    /// Returns nil for bytes that `append` cannot have written.
    package init?(_ bytes: Span<UInt8>) {
        let wordBytes = 8
        let timeBytes = 8
        let byteCountMax = timeBytes + SheetHead.jobsMax / 8 + wordBytes
        let isWholeWords = bytes.count % wordBytes == 0
        guard bytes.count >= timeBytes, isWholeWords, bytes.count <= byteCountMax else { return nil }
        guard let time = Int64(exactly: BigEndian.number(in: bytes, at: 0)) else { return nil }
        newestReceiptAt = time
        for start in stride(from: timeBytes, to: bytes.count, by: wordBytes) {
            words.append(BigEndian.number(in: bytes, at: start))
        }
    }
}
