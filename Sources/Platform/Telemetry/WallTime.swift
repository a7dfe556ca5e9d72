internal import CLinux

/// A point in time as people and other machines use it: nanoseconds since 1970, UTC, from the year 1677 to 2262. The
/// clock can jump, so waits and ages use `Instant` of `Lifecycle`.
package struct WallTime: Sendable, Hashable, Comparable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Creates the time, or the nearest possible time if it is too early or too late. The time in a record or an answer
    /// may have any value, and must not trap.
    package init(milliseconds: Int64) {
        let (nanoseconds, overflows) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
        let nearest: Int64 = milliseconds < 0 ? .min : .max
        self.nanoseconds = overflows ? nearest : nanoseconds
    }

    /// Milliseconds since 1970, rounded down, also before 1970.
    package var milliseconds: Int64 { nanoseconds.dividedDown(by: 1_000_000) }
    /// Seconds since 1970, rounded down, also before 1970.
    package var seconds: Int64 { nanoseconds.dividedDown(by: 1_000_000_000) }

    package static func now() -> WallTime { WallTime(nanoseconds: Int64(linux_walltime_nanoseconds())) }

    package static func < (a: WallTime, b: WallTime) -> Bool { a.nanoseconds < b.nanoseconds }

    /// The time in RFC 3339, in UTC with milliseconds: `2026-11-27T08:30:00.000Z`.
    package var rfc3339: String {
        var out: [UInt8] = []
        out.reserveCapacity(24)
        appendRFC3339(to: &out)
        return String(decoding: out, as: UTF8.self)
    }

    package func appendRFC3339(to out: inout [UInt8]) {
        let day = seconds.dividedDown(by: UTCDate.secondsPerDay)
        let secondOfDay = seconds - day * UTCDate.secondsPerDay
        let date = GregorianDate(daysSince1970: day)
        appendDigits(of: date.year, width: 4, to: &out)
        out.append(UInt8(ascii: "-"))
        appendDigits(of: date.month, width: 2, to: &out)
        out.append(UInt8(ascii: "-"))
        appendDigits(of: date.day, width: 2, to: &out)
        out.append(UInt8(ascii: "T"))
        appendDigits(of: secondOfDay / 3600, width: 2, to: &out)
        out.append(UInt8(ascii: ":"))
        appendDigits(of: secondOfDay / 60 % 60, width: 2, to: &out)
        out.append(UInt8(ascii: ":"))
        appendDigits(of: secondOfDay % 60, width: 2, to: &out)
        out.append(UInt8(ascii: "."))
        appendDigits(of: milliseconds - seconds * 1000, width: 3, to: &out)
        out.append(UInt8(ascii: "Z"))
    }
}

/// Appends the last `width` decimal digits of a number that is not negative, with leading zeros.
private func appendDigits(of value: Int64, width: Int, to out: inout [UInt8]) {
    var divisor: Int64 = 1
    for _ in 1..<width { divisor *= 10 }
    while divisor > 0 {
        out.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / divisor % 10))
        divisor /= 10
    }
}
