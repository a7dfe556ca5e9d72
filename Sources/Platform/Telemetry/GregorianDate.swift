/// A date of the Gregorian calendar, converted to and from a number of days (Howard Hinnant's `days_from_civil` and
/// `civil_from_days`).
///
/// The calculations count years from March, so that the leap day is the last day of its year and needs no special case.
/// They count days from 1 March of the year 0. The calendar repeats after an era of 400 years.
struct GregorianDate {
    private static let daysPerEra: Int64 = 146_097
    /// The days from 1 March of the year 0 to 1 January 1970.
    private static let daysFromYearZeroTo1970: Int64 = 719_468

    let year: Int64
    /// From 1 to 12.
    let month: Int64
    let day: Int64

    init(year: Int64, month: Int64, day: Int64) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// - Parameter days: the days since 1 January 1970; negative before it.
    init(daysSince1970 days: Int64) {
        let daysSinceYearZero = days + Self.daysFromYearZeroTo1970
        let era = daysSinceYearZero.dividedDown(by: Self.daysPerEra)
        let dayOfEra = daysSinceYearZero - era * Self.daysPerEra
        // Takes the leap days out of the days. The leap day of 4 years comes after 1460 days, and the one of an era after
        // 146,096 days. A century of 36,524 days has none at its end.
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - Self.daysBefore(monthFromMarch: monthFromMarch) + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The days since 1 January 1970. The year must not be negative.
    var daysSince1970: Int64 {
        let marchYear = month > 2 ? year : year - 1
        let daysBeforeYear = marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400
        let daysBeforeMonth = Self.daysBefore(monthFromMarch: (month + 9) % 12)
        return daysBeforeYear + daysBeforeMonth + day - 1 - Self.daysFromYearZeroTo1970
    }

    /// Returns the days from 1 March to the first day of the month. Five months from March on have 153 days, and then the lengths repeat.
    private static func daysBefore(monthFromMarch month: Int64) -> Int64 { (153 * month + 2) / 5 }
}

extension Int64 {
    /// Returns the quotient rounded down, also for a negative number.
    func dividedDown(by divisor: Int64) -> Int64 { self / divisor - (self % divisor < 0 ? 1 : 0) }
}
