/// When a row of `timers` has to be looked at, read from its bytes as they lie: a timer when it is due, a seen
/// order when it need not be remembered any more. Both begin with that time.
package enum TimerWake {
    private static let due = Array(#","dueAt":"#.utf8)
    private static let seen = Array(#","at":"#.utf8)
    private static let opening = Array(#"{"v":"#.utf8)

    /// Milliseconds since 1970; nil for what is no such row.
    package static func time(of key: Span<UInt8>, _ row: Span<UInt8>) -> Int64? {
        let isSeen = unsafe key.withUnsafeBytes { unsafe SeenOrder.isKey($0) }
        guard let version = end(of: opening, in: row, from: 0) else { return nil }
        var index = version
        while index < row.count, isDigit(row[index]) { index += 1 }
        guard let start = end(of: isSeen ? seen : due, in: row, from: index) else { return nil }
        var time: Int64 = 0
        index = start
        while index < row.count, isDigit(row[index]) {
            let (product, isTooMuch) = time.multipliedReportingOverflow(by: 10)
            let (sum, isAbove) = product.addingReportingOverflow(Int64(row[index] - 0x30))
            if isTooMuch || isAbove { return nil }
            time = sum
            index += 1
        }
        if index == start { return nil }
        return isSeen ? time.addingReportingOverflow(SeenOrder.keptMilliseconds).partialValue : time
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Where the text ends that stands there; nil when another does.
    private static func end(of text: [UInt8], in row: Span<UInt8>, from start: Int) -> Int? {
        guard start + text.count <= row.count else { return nil }
        for index in text.indices where row[start + index] != text[index] { return nil }
        return start + text.count
    }
}
