internal import CLinux

/// A point in time as people and other machines use it: nanoseconds since 1970, UTC. The clock can jump, so
/// waits and ages use `Instant` of `Lifecycle`.
package struct WallTime: Sendable, Hashable, Comparable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    package init(milliseconds: Int64) { self.nanoseconds = milliseconds &* 1_000_000 }

    package var milliseconds: Int64 { nanoseconds / 1_000_000 }
    package var seconds: Int64 { nanoseconds / 1_000_000_000 }

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
        let milliseconds = floorDivide(nanoseconds, by: 1_000_000)
        let seconds = floorDivide(milliseconds, by: 1000)
        let days = floorDivide(seconds, by: secondsPerDay)
        let secondOfDay = seconds - days * secondsPerDay
        let date = civilDate(fromDays: days)
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

let secondsPerDay: Int64 = 86_400
/// The days from 1 March of the year 0, where the calculations begin, to 1 January 1970.
let daysFromYearZeroTo1970: Int64 = 719_468

/// Returns the quotient rounded down, also for times before 1970.
private func floorDivide(_ a: Int64, by b: Int64) -> Int64 {
    a >= 0 ? a / b : -((-a + b - 1) / b)
}

/// Returns the date of a day number since 1970 in the Gregorian calendar (Howard Hinnant's
/// `civil_from_days`).
///
/// Years are counted from March, so that the leap day is the last of its year and needs no special case. An
/// era is the 400 years after which the calendar repeats.
func civilDate(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let daysPerEra: Int64 = 146_097
    let daysSinceYearZero = days + daysFromYearZeroTo1970
    let era = floorDivide(daysSinceYearZero, by: daysPerEra)
    let dayOfEra = daysSinceYearZero - era * daysPerEra
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, day)
}

/// Appends the last `width` decimal digits, with leading zeros.
private func appendDigits(of value: Int64, width: Int, to out: inout [UInt8]) {
    var divisor: Int64 = 1
    for _ in 1..<width { divisor *= 10 }
    while divisor > 0 {
        out.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / divisor % 10))
        divisor /= 10
    }
}
