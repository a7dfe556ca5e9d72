package import LiveActivity

/// Which jobs of a sheet have had their last word: of several receipts for one job the first counts, as two
/// processes may have had it.
package struct FinishedLines: Sendable, Hashable {
    private static let wordBits = 64

    private var words: [UInt64] = []
    /// Milliseconds since 1970 of the newest receipt: what nobody has written of for long is forgotten.
    package private(set) var at: Int64 = 0

    package init() {}

    package var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    /// - Parameter isFresh: told each line that was not finished before.
    package mutating func insert(_ lines: LineSet, at time: Int64, isFresh: (Int) -> Void) {
        at = max(at, time)
        for range in lines.ranges {
            let last = range.upperBound / Self.wordBits
            while words.count <= last { words.append(0) }
            for word in range.lowerBound / Self.wordBits...last {
                let mask = Self.mask(of: range, in: word)
                var fresh = mask & ~words[word]
                words[word] |= mask
                while fresh != 0 {
                    isFresh(word * Self.wordBits + fresh.trailingZeroBitCount)
                    fresh &= fresh - 1
                }
            }
        }
    }

    /// The bits of the range that lie in one word.
    private static func mask(of range: ClosedRange<Int>, in word: Int) -> UInt64 {
        let low = max(range.lowerBound - word * wordBits, 0)
        let high = min(range.upperBound - word * wordBits, wordBits - 1)
        let below = high == wordBits - 1 ? UInt64.max : 1 << UInt64(high + 1) - 1
        return below & ~(1 << UInt64(low) - 1)
    }
}

extension FinishedLines {
    /// The time, then the bits.
    package func append(to bytes: inout [UInt8]) {
        BigEndian.append(UInt64(at), to: &bytes)
        for word in words { BigEndian.append(word, to: &bytes) }
    }

    /// Nil for what `append` does not write.
    package init?(_ bytes: Span<UInt8>) {
        guard bytes.count >= 8, bytes.count % 8 == 0, bytes.count <= 8 + SheetHead.jobsMax / 8 + 8 else {
            return nil
        }
        guard let time = Int64(exactly: BigEndian.number(in: bytes, at: 0)) else { return nil }
        at = time
        for start in stride(from: 8, to: bytes.count, by: 8) {
            words.append(BigEndian.number(in: bytes, at: start))
        }
    }
}
