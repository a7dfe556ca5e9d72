package import Jobs

/// The jobs of a sheet that have a final receipt. Two processes may have had the same job, so only its first
/// final receipt counts.
package struct FinishedLines: Sendable, Hashable {
    private static let wordBits = 64

    private var words: [UInt64] = []
    /// The time of the newest receipt, in milliseconds since 1970. Old rows are forgotten by it.
    package private(set) var at: Int64 = 0

    package init() {}

    package var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    /// - Parameter isFresh: Receives each line that was not finished before.
    package mutating func insert(_ lines: LineSet, at time: Int64, onNewLine: (Int) -> Void) {
        at = max(at, time)
        for range in lines.ranges {
            let last = range.upperBound / Self.wordBits
            while words.count <= last { words.append(0) }
            for word in range.lowerBound / Self.wordBits...last {
                let mask = Self.mask(of: range, in: word)
                var fresh = mask & ~words[word]
                words[word] |= mask
                while fresh != 0 {
                    onNewLine(word * Self.wordBits + fresh.trailingZeroBitCount)
                    fresh &= fresh - 1
                }
            }
        }
    }

    /// Returns the bits of the range that belong to one word.
    private static func mask(of range: ClosedRange<Int>, in word: Int) -> UInt64 {
        let low = max(range.lowerBound - word * wordBits, 0)
        let high = min(range.upperBound - word * wordBits, wordBits - 1)
        let below = high == wordBits - 1 ? UInt64.max : 1 << UInt64(high + 1) - 1
        return below & ~(1 << UInt64(low) - 1)
    }
}

extension FinishedLines {
    /// Appends the time, then the bits.
    package func append(to bytes: inout [UInt8]) {
        BigEndian.append(UInt64(at), to: &bytes)
        for word in words { BigEndian.append(word, to: &bytes) }
    }

    /// Returns nil for bytes that `append` cannot have written.
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
