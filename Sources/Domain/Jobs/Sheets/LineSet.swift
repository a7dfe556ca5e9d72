/// A subset of a sheet's lines, as ranges of line numbers from 0. Ranges are small in memory and in records,
/// because a set usually has all lines or all but a few. `LineBitmap` is the form for changes in any order.
package struct LineSet: Sendable, Hashable {
    /// The ranges in order, with gaps between them.
    package private(set) var ranges: [ClosedRange<Int>] = []

    package init() {}

    /// Creates the set of all lines of a sheet with this many lines.
    package init(all count: Int) {
        if count > 0 { ranges = [0...count - 1] }
    }

    package var count: Int { ranges.reduce(0) { $0 + $1.count } }
    package var isEmpty: Bool { ranges.isEmpty }

    /// Appends a line. Lines must be appended in ascending order, each only once.
    package mutating func append(_ line: Int) {
        guard let last = ranges.last else { return ranges.append(line...line) }
        precondition(line > last.upperBound, "lines are appended in order")
        if line == last.upperBound + 1 {
            ranges[ranges.count - 1] = last.lowerBound...line
        } else {
            ranges.append(line...line)
        }
    }

    package func contains(_ line: Int) -> Bool { ranges.contains { $0.contains(line) } }

    /// Returns the positions that the lines of another set have in this set, counted from 0. A line that this set
    /// lacks has no position.
    package func positions(of lines: LineSet) -> LineSet {
        var wanted = LineBitmap()
        lines.forEachLine { wanted.insert($0) }
        var positions = LineSet()
        var position = 0
        forEachLine { line in
            if wanted.contains(line) { positions.append(position) }
            position += 1
        }
        return positions
    }

    /// Calls `body` with each line, in order.
    package func forEachLine(_ body: (Int) -> Void) {
        for range in ranges { for line in range { body(line) } }
    }

    /// The ranges in records and headers, for example `0-199,201`.
    package var text: String {
        ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ",")
    }

    /// Reads the property `text` of another set. Returns nil for any other form of the same set, for example
    /// with adjacent ranges or `5-5`, and for a line that no sheet has.
    package init?(text: some StringProtocol) {
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            // One line, or the first and the last line of a range.
            let bounds = part.split(separator: "-", omittingEmptySubsequences: false)
            guard (1...2).contains(bounds.count), let first = Self.lineNumber(from: bounds[0]),
                let last = Self.lineNumber(from: bounds[bounds.count - 1]), first <= last
            else { return nil }
            // A range that touches the previous one would be written as a part of it.
            if let previous = ranges.last, first <= previous.upperBound + 1 { return nil }
            if bounds.count == 2, first == last { return nil }
            ranges.append(first...last)
        }
    }

    private static func lineNumber(from text: some StringProtocol) -> Int? {
        let hasOnlyDigits = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard hasOnlyDigits, let line = Int(text), line < SheetHead.jobsMax else { return nil }
        return line
    }
}
