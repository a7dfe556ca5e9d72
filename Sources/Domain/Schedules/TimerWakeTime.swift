internal import Sends

/// The next time at which a row of `timers` needs work, read from its bytes in place. A timer needs work when
/// it is due, and a `ScheduleIdempotencyRow` when it expires. Both rows begin with that time.
package enum TimerWakeTime {
    private static let dueFieldPrefix = Array(#","dueAt":"#.utf8)
    private static let writtenFieldPrefix = Array(#","at":"#.utf8)
    private static let rowPrefix = Array(#"{"v":"#.utf8)

    /// Returns milliseconds since 1970, or nil if the bytes are not such a row.
    package static func wakeTime(key: Span<UInt8>, row: Span<UInt8>) -> Int64? {
        let isSeen = unsafe key.withUnsafeBytes { unsafe ScheduleIdempotencyRow.isKey($0) }
        guard let version = end(of: rowPrefix, in: row, from: 0) else { return nil }
        var index = version
        while index < row.count, isDigit(row[index]) { index += 1 }
        guard let start = end(of: isSeen ? writtenFieldPrefix : dueFieldPrefix, in: row, from: index) else {
            return nil
        }
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
        return isSeen
            ? time.addingReportingOverflow(Idempotency.retentionMilliseconds).partialValue : time
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Returns the position after the text, or nil if the row has another text at `start`.
    private static func end(of text: [UInt8], in row: Span<UInt8>, from start: Int) -> Int? {
        guard start + text.count <= row.count else { return nil }
        for index in text.indices where row[start + index] != text[index] { return nil }
        return start + text.count
    }
}
