internal import Sends

/// The next time at which a row of `timers` needs work, read from its bytes in place. A `TimerRow` needs work
/// when it is due, and a `ScheduleIdempotencyRow` when it expires. The scheduler reads this time of every row, so
/// both rows begin with it, for example `{"v":1,"dueAt":1763600000000,…`.
package enum TimerWakeTime {
    private static let rowPrefix = Array(#"{"v":"#.utf8)
    private static let dueFieldPrefix = Array(#","dueAt":"#.utf8)
    private static let writtenFieldPrefix = Array(#","at":"#.utf8)

    /// Returns the time in milliseconds since 1970, or nil if the bytes are not such a row. The row begins with its
    /// schema version, and then the field with the time follows.
    package static func wakeTime(key: Span<UInt8>, row: Span<UInt8>) -> Int64? {
        let isIdempotencyRow = unsafe key.withUnsafeBytes { unsafe ScheduleIdempotencyRow.isKey($0) }
        guard let versionStart = end(of: rowPrefix, in: row, from: 0) else { return nil }
        var versionEnd = versionStart
        while versionEnd < row.count, isDigit(row[versionEnd]) { versionEnd += 1 }
        let fieldPrefix = isIdempotencyRow ? writtenFieldPrefix : dueFieldPrefix
        guard let timeStart = end(of: fieldPrefix, in: row, from: versionEnd),
            let time = number(in: row, from: timeStart)
        else { return nil }
        // The time in a damaged row may overflow, which must not stop the process.
        return isIdempotencyRow
            ? time.addingReportingOverflow(Idempotency.retentionMilliseconds).partialValue : time
    }

    /// Returns the decimal number at `start`. Returns nil if there is no digit, or if the number does not fit.
    private static func number(in row: Span<UInt8>, from start: Int) -> Int64? {
        var number: Int64 = 0
        var index = start
        while index < row.count, isDigit(row[index]) {
            let digit = Int64(row[index] - UInt8(ascii: "0"))
            let (product, productOverflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, sumOverflows) = product.addingReportingOverflow(digit)
            if productOverflows || sumOverflows { return nil }
            number = sum
            index += 1
        }
        return index == start ? nil : number
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// Returns the position after the text, or nil if the row has another text at `start`.
    private static func end(of text: [UInt8], in row: Span<UInt8>, from start: Int) -> Int? {
        guard start + text.count <= row.count else { return nil }
        for index in text.indices where row[start + index] != text[index] { return nil }
        return start + text.count
    }
}
