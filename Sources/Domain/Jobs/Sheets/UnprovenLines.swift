/// The header `unproven` of a sheet: the lines whose tokens APNs has never accepted, as the text of a `LineSet`.
///
/// A sheet without the header has proven tokens only. So all tokens of a sheet from an older fan-out, which did not
/// write the header, count as proven. An older sender ignores the header.
package enum UnprovenLines {
    /// Returns the value of the header, or nil for a sheet without unproven tokens, which lacks the header.
    package static func headerValue(of lines: LineSet) -> [UInt8]? {
        lines.isEmpty ? nil : Array(lines.text.utf8)
    }

    /// Returns the lines that the header names.
    ///
    /// - Parameters:
    ///   - header: the value of the header; nil if the sheet lacks it.
    ///   - lineCount: the number of the sheet's lines.
    package static func parse(_ header: [UInt8]?, lineCount: Int) throws(SheetError) -> LineSet {
        guard let header else { return LineSet() }
        guard let lines = LineSet(text: String(decoding: header, as: UTF8.self)),
            let last = lines.ranges.last?.upperBound, last < lineCount
        else { throw .invalidUnprovenLines }
        return lines
    }
}
