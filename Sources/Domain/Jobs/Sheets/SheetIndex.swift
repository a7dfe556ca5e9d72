internal import Glibc

/// The positions of the parts of a sheet's lines, for repeated access to single lines, as a sender needs it.
/// Creating the index checks all lines by the rules of `SheetJob`.
///
/// This runs for every job. The C library finds tabs and newlines many bytes at a time.
package struct SheetIndex: Sendable {
    /// Byte ranges in the header `to`.
    package struct Line: Sendable, Hashable {
        package let token: Range<Int32>
        package let installation: Range<Int32>
        package let entry: Range<Int32>
        package let recipient: Range<Int32>
        /// The end of the line. The phone's system version may follow the recipient.
        fileprivate let end: Int32

        /// The line without the token: the part that a receipt copies.
        package var addressee: Range<Int32> { installation.lowerBound..<end }
        /// Installation and entry, which identify the job's target independently of its token.
        package var target: Range<Int32> { installation.lowerBound..<entry.upperBound }
    }

    package private(set) var lines: [Line] = []

    package init(parsing to: [UInt8]) throws(SheetError) {
        lines.reserveCapacity(Swift.min(SheetHead.jobsMax, to.count / 64 + 1))
        try unsafe to.span.withUnsafeBytes { bytes throws(SheetError) in try unsafe parseLines(in: bytes) }
        if lines.isEmpty { throw .noJobs }
    }

    /// Returns the given lines as the header `to` of a new sheet.
    package func encodedLines(_ wanted: LineSet, from to: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        wanted.forEachLine { line in
            out += to[Int(lines[line].token.lowerBound)..<Int(lines[line].end)]
            out.append(UInt8(ascii: "\n"))
        }
        return out
    }

    private mutating func parseLines(in bytes: UnsafeRawBufferPointer) throws(SheetError) {
        guard bytes.count <= SheetHead.bytesMax * 4 else { throw .tooManyJobs }
        var start = 0
        while start < bytes.count {
            guard lines.count < SheetHead.jobsMax else { throw .tooManyJobs }
            let end =
                unsafe Self.find(UInt8(ascii: "\n"), in: bytes, within: start..<bytes.count) ?? bytes.count
            guard let line = unsafe Self.parseLine(in: bytes, range: start..<end) else {
                throw .invalidJob(lines.count)
            }
            lines.append(line)
            start = end + 1
        }
    }

    private static func parseLine(in bytes: UnsafeRawBufferPointer, range all: Range<Int>) -> Line? {
        let tab = UInt8(ascii: "\t")
        guard let first = unsafe find(tab, in: bytes, within: all),
            let second = unsafe find(tab, in: bytes, within: first + 1..<all.upperBound),
            let third = unsafe find(tab, in: bytes, within: second + 1..<all.upperBound),
            case let fourth = unsafe find(tab, in: bytes, within: third + 1..<all.upperBound),
            unsafe isSystemVersion(in: bytes, after: fourth, upTo: all.upperBound),
            case let end = fourth ?? all.upperBound,
            first > all.lowerBound, second > first + 1, third > second + 1, end - third > 3,
            unsafe bytes[third + 2] == UInt8(ascii: ":"),
            case let kind = unsafe bytes[third + 1], kind == UInt8(ascii: "u") || kind == UInt8(ascii: "i")
        else { return nil }
        func range(from: Int, to: Int) -> Range<Int32> {
            Int32(truncatingIfNeeded: from)..<Int32(truncatingIfNeeded: to)
        }
        return Line(
            token: range(from: all.lowerBound, to: first), installation: range(from: first + 1, to: second),
            entry: range(from: second + 1, to: third), recipient: range(from: third + 1, to: end),
            end: Int32(truncatingIfNeeded: all.upperBound))
    }

    /// Whether the range is empty or a major system version.
    private static func isSystemVersion(in bytes: UnsafeRawBufferPointer, after tab: Int?, upTo end: Int)
        -> Bool
    {
        guard let tab else { return true }
        return unsafe ReceiptLines.systemVersion(
            from: bytes.bindMemory(to: UInt8.self).span.extracting(tab + 1..<end))
            != nil
    }

    private static func find(_ byte: UInt8, in bytes: UnsafeRawBufferPointer, within range: Range<Int>)
        -> Int?
    {
        guard !range.isEmpty, let base = bytes.baseAddress,
            let found = unsafe memchr(base + range.lowerBound, Int32(byte), range.count)
        else { return nil }
        return unsafe UnsafeRawPointer(found) - base
    }
}
