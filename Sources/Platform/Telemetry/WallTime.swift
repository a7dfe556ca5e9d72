internal import CLinux

/// A point in time in nanoseconds since 1970, UTC, as people and other machines use it. It can jump, so waits
/// must use the monotonic clock.
package struct WallTime: Sendable, Hashable, Comparable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    package init(milliseconds: Int64) { self.nanoseconds = milliseconds &* 1_000_000 }

    package var milliseconds: Int64 { nanoseconds / 1_000_000 }
    package var seconds: Int64 { nanoseconds / 1_000_000_000 }

    package static func now() -> WallTime { WallTime(nanoseconds: Int64(linux_walltime_nanoseconds())) }

    package static func < (a: WallTime, b: WallTime) -> Bool { a.nanoseconds < b.nanoseconds }

    /// The time in RFC 3339, in UTC with milliseconds, as in log lines and records.
    package var rfc3339: String {
        var out: [UInt8] = []
        out.reserveCapacity(24)
        appendRFC3339(to: &out)
        return String(decoding: out, as: UTF8.self)
    }

    package func appendRFC3339(to out: inout [UInt8]) {
        let total = floorDivide(nanoseconds, by: 1_000_000)
        let milliseconds = total - floorDivide(total, by: 1000) * 1000
        let second = floorDivide(total, by: 1000)
        let day = floorDivide(second, by: 86400)
        let inDay = second - day * 86400
        let (year, month, dayOfMonth) = civilDate(fromDays: day)
        appendDigits(of: year, width: 4, to: &out)
        out.append(0x2D)
        appendDigits(of: month, width: 2, to: &out)
        out.append(0x2D)
        appendDigits(of: dayOfMonth, width: 2, to: &out)
        out.append(0x54)
        appendDigits(of: inDay / 3600, width: 2, to: &out)
        out.append(0x3A)
        appendDigits(of: inDay / 60 % 60, width: 2, to: &out)
        out.append(0x3A)
        appendDigits(of: inDay % 60, width: 2, to: &out)
        out.append(0x2E)
        appendDigits(of: milliseconds, width: 3, to: &out)
        out.append(0x5A)
    }
}

private func floorDivide(_ a: Int64, by b: Int64) -> Int64 {
    a >= 0 ? a / b : -((-a + b - 1) / b)
}

/// Returns year, month and day of a day number since 1970 in the Gregorian calendar. Years are counted from
/// March, so that the leap day is the last of its year and needs no special case.
private func civilDate(fromDays days: Int64) -> (Int64, Int64, Int64) {
    let shifted = days + 719_468
    let era = floorDivide(shifted, by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, day)
}

private func appendDigits(of value: Int64, width: Int, to out: inout [UInt8]) {
    var divisor: Int64 = 1
    for _ in 1..<width { divisor *= 10 }
    while divisor > 0 {
        out.append(0x30 + UInt8(truncatingIfNeeded: value / divisor % 10))
        divisor /= 10
    }
}
