/// Dates of the Gregorian calendar in UTC, converted between seconds since 1970 and text.
package enum UTCDate {
    package static let secondsPerDay: Int64 = 86_400

    /// Returns the time of a text like `2026-11-20T20:00:00Z`, also with an offset like `+01:00`. Phones decode
    /// dates with Swift's ISO 8601 strategy, and every version of it accepts this form. The result is nil for
    /// forms that only some versions accept: fractions of a second, or a day that the month does not have.
    package static func seconds(iso8601 text: UnsafeBufferPointer<UInt8>) -> Int64? {
        func number(at start: Int, digits count: Int) -> Int64? {
            var value: Int64 = 0
            for index in start..<start + count {
                let byte = unsafe text[index]
                guard isDigit(byte) else { return nil }
                value = value * 10 + Int64(byte - UInt8(ascii: "0"))
            }
            return value
        }
        func has(_ byte: Unicode.Scalar, at index: Int) -> Bool {
            unsafe text[index] == UInt8(truncatingIfNeeded: byte.value)
        }
        let endsInZ = text.count == 20
        let endsInOffset = text.count == 25
        guard endsInZ || endsInOffset, has("-", at: 4), has("-", at: 7), has("T", at: 10),
            has(":", at: 13), has(":", at: 16),
            let year = number(at: 0, digits: 4), let month = number(at: 5, digits: 2),
            let day = number(at: 8, digits: 2), let hour = number(at: 11, digits: 2),
            let minute = number(at: 14, digits: 2), let second = number(at: 17, digits: 2)
        else { return nil }
        guard year > 0, (1...12).contains(month), day >= 1, day <= days(in: month, of: year), hour < 24,
            minute < 60, second < 60
        else { return nil }
        var offsetSeconds: Int64 = 0
        if endsInZ {
            guard has("Z", at: 19) else { return nil }
        } else {
            guard has("+", at: 19) || has("-", at: 19), has(":", at: 22),
                let hours = number(at: 20, digits: 2),
                let minutes = number(at: 23, digits: 2), hours <= 14, minutes < 60
            else { return nil }
            let sign: Int64 = has("-", at: 19) ? -1 : 1
            offsetSeconds = sign * (hours * 3_600 + minutes * 60)
        }
        let dayCount = GregorianDate(year: year, month: month, day: day).daysSince1970
        return dayCount * secondsPerDay + hour * 3_600 + minute * 60 + second - offsetSeconds
    }

    /// Whether the text is such a date with a fraction of a second, which only newer versions of Swift's
    /// decoder accept.
    package static func hasFraction(iso8601 text: UnsafeBufferPointer<UInt8>) -> Bool {
        // A digit and the offset follow the point. A longer text is no date, so it is not copied.
        guard text.count > 21, text.count <= 64, unsafe text[19] == UInt8(ascii: ".") else { return false }
        let digits = unsafe text[20...].prefix(while: isDigit).count
        guard digits > 0 else { return false }
        let withoutFraction = unsafe Array(text[..<19]) + Array(text[(20 + digits)...])
        return unsafe withoutFraction.withUnsafeBufferPointer { unsafe seconds(iso8601: $0) } != nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isLeap(_ year: Int64) -> Bool {
        year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Returns the day in the form 2026-11-20, or only the year if it has more than four digits.
    package static func dayText(secondsSince1970 seconds: Double) -> String {
        guard seconds.isFinite, abs(seconds) < 1e14 else { return "a year beyond three million" }
        let days = Int64((seconds / Double(secondsPerDay)).rounded(.down))
        let date = GregorianDate(daysSince1970: days)
        guard (1...9999).contains(date.year) else { return "the year \(date.year)" }
        let year = padded(date.year, digits: 4)
        return "\(year)-\(padded(date.month, digits: 2))-\(padded(date.day, digits: 2))"
    }

    private static func padded(_ number: Int64, digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
