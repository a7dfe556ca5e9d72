internal import Glibc

/// An index of a sheet's header `to`: the byte ranges of each line's columns. A sender reads single lines
/// repeatedly, so it parses the header once. Creating the index checks all lines, so that a sheet is accepted
/// or rejected as a whole.
///
/// This runs for every job. The C library finds tabs and newlines many bytes at a time.
package struct SheetIndex: Sendable {
    /// A larger header is rejected before it is read. It leaves room above every valid sheet, and positions below
    /// it fit into an `Int32`.
    private static let headerBytesMax = SheetHead.bytesMax * 4
    /// The size of a short line. Few lines are shorter, so a header's size divided by it is enough capacity.
    private static let shortLineBytes = 64

    /// The columns of one line, as byte ranges in the header `to`.
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
        lines.reserveCapacity(Swift.min(SheetHead.jobsMax, to.count / Self.shortLineBytes + 1))
        try unsafe to.span.withUnsafeBytes { bytes throws(SheetError) in try unsafe parseLines(in: bytes) }
        if lines.isEmpty { throw .noJobs }
    }

    /// Returns the lines of `selection` as the header `to` of a new sheet.
    package func encodedLines(_ selection: LineSet, from to: [UInt8]) -> [UInt8] {
        var header: [UInt8] = []
        selection.forEachLine { line in
            header += to[Int(lines[line].token.lowerBound)..<Int(lines[line].end)]
            header.append(UInt8(ascii: "\n"))
        }
        return header
    }

    private mutating func parseLines(in bytes: UnsafeRawBufferPointer) throws(SheetError) {
        guard bytes.count <= Self.headerBytesMax else { throw .tooManyJobs }
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

    /// Returns the columns of a line, or nil if the line is not a job. The columns, separated by tabs, are the
    /// token, the installation, the registry entry, the recipient and, optionally, the system version.
    private static func parseLine(in bytes: UnsafeRawBufferPointer, range line: Range<Int>) -> Line? {
        let tab = UInt8(ascii: "\t")
        guard let first = unsafe find(tab, in: bytes, within: line),
            let second = unsafe find(tab, in: bytes, within: first + 1..<line.upperBound),
            let third = unsafe find(tab, in: bytes, within: second + 1..<line.upperBound)
        else { return nil }
        let fourth = unsafe find(tab, in: bytes, within: third + 1..<line.upperBound)
        guard unsafe isSystemVersion(in: bytes, after: fourth, upTo: line.upperBound) else { return nil }
        let recipientEnd = fourth ?? line.upperBound
        let hasEmptyColumn = first == line.lowerBound || second == first + 1 || third == second + 1
        guard !hasEmptyColumn, unsafe isRecipient(in: bytes, range: third + 1..<recipientEnd) else {
            return nil
        }
        func range(from: Int, to: Int) -> Range<Int32> {
            Int32(truncatingIfNeeded: from)..<Int32(truncatingIfNeeded: to)
        }
        return Line(
            token: range(from: line.lowerBound, to: first), installation: range(from: first + 1, to: second),
            entry: range(from: second + 1, to: third), recipient: range(from: third + 1, to: recipientEnd),
            end: Int32(truncatingIfNeeded: line.upperBound))
    }

    /// Whether the bytes are `u:` or `i:` and at least one byte more.
    private static func isRecipient(in bytes: UnsafeRawBufferPointer, range: Range<Int>) -> Bool {
        guard range.count > 2, unsafe bytes[range.lowerBound + 1] == UInt8(ascii: ":") else { return false }
        let kind = unsafe bytes[range.lowerBound]
        return kind == UInt8(ascii: "u") || kind == UInt8(ascii: "i")
    }

    /// Whether a major system version follows the tab. True if there is no tab.
    private static func isSystemVersion(in bytes: UnsafeRawBufferPointer, after tab: Int?, upTo end: Int)
        -> Bool
    {
        guard let tab else { return true }
        return unsafe ReceiptLines.systemVersion(
            from: bytes.bindMemory(to: UInt8.self).span.extracting(tab + 1..<end))
            != nil
    }

    /// Returns the position of the first such byte in the range.
    private static func find(_ byte: UInt8, in bytes: UnsafeRawBufferPointer, within range: Range<Int>)
        -> Int?
    {
        guard !range.isEmpty, let base = bytes.baseAddress,
            let match = unsafe memchr(base + range.lowerBound, Int32(byte), range.count)
        else { return nil }
        return unsafe UnsafeRawPointer(match) - base
    }
}
