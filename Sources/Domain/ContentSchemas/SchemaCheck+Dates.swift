internal import JSON
internal import Telemetry

// The checks of dates. A number in the wrong unit decodes, but to a date decades away.

extension SchemaCheck {
    /// Seconds from the beginning of 1970 to the beginning of 2001, which is the origin of Swift's own dates.
    static let referenceDate2001: Double = 978_307_200
    /// The distance from now within which a date is plausible: five years. Activities live for hours, so their
    /// dates are rarely further away.
    static let plausibleSeconds: Double = 5 * 366 * 86_400
    private static let dateRemedy = "send it like 2026-11-20T20:00:00Z"

    /// Checks a date that Swift decodes from a number.
    mutating func checkDateNumber(_ value: JSONValue, as scalar: SchemaScalar) {
        let remedy = "send a number, or register the property as date.iso8601 if the app decodes that"
        guard expect(value, kinds: [.integer, .number], swiftName: "Date", remedy: remedy) else { return }
        if TextFormat.underflows(value, isFloat: false) {
            return addFinding(
                at: value, code: .outOfRange, message: "does not fit a Double; send another number")
        }
        warnOfWrongUnit(of: value.double(), at: value, as: scalar)
    }

    /// Adds a warning if the number is no plausible date in the property's unit but is one in another unit.
    private mutating func warnOfWrongUnit(of number: Double, at value: JSONValue, as scalar: SchemaScalar) {
        let decodedSeconds = Self.secondsSince1970(from: number, as: scalar)
        guard !isPlausible(decodedSeconds) else { return }
        let units: [(SchemaScalar, String)] = [
            (.dateReference2001, "seconds since 2001"), (.dateUnixSeconds, "seconds since 1970"),
            (.dateUnixMilliseconds, "milliseconds since 1970"),
        ]
        for (unit, unitName) in units where unit != scalar {
            let intendedSeconds = Self.secondsSince1970(from: number, as: unit)
            guard isPlausible(intendedSeconds) else { continue }
            let decodedDay = UTCDate.dayText(secondsSince1970: decodedSeconds)
            let correctNumber = Self.number(forSecondsSince1970: intendedSeconds, as: scalar)
            return addFinding(
                at: value, code: .wrongUnit,
                message:
                    "looks like \(unitName), and the phone will read it as \(decodedDay); send \(correctNumber)"
            )
        }
    }

    /// Checks a date that Swift decodes from a text in ISO 8601.
    mutating func checkDateText(_ value: JSONValue) {
        guard expect(value, kinds: [.string], swiftName: "Date", remedy: Self.dateRemedy) else { return }
        guard unsafe UTCDate.seconds(iso8601: value.utf8()) == nil else { return }
        if unsafe UTCDate.hasFraction(iso8601: value.utf8()) {
            addFinding(
                at: value, code: .notPortable,
                message:
                    "has a fraction of a second, which only newer systems decode; \(Self.dateRemedy)"
            )
        } else {
            addFinding(
                at: value, code: .malformed,
                message: "is not a date for Swift; \(Self.dateRemedy)")
        }
    }

    private func isPlausible(_ secondsSince1970: Double) -> Bool {
        abs(secondsSince1970 - Double(now)) <= Self.plausibleSeconds
    }

    /// Returns the time that Swift decodes from a number, in seconds since 1970.
    static func secondsSince1970(from number: Double, as scalar: SchemaScalar) -> Double {
        switch scalar {
        case .dateReference2001: number + referenceDate2001
        case .dateUnixMilliseconds: number / 1000
        default: number
        }
    }

    /// Returns the number from which Swift decodes this time, without a fraction if it has none.
    private static func number(forSecondsSince1970 seconds: Double, as scalar: SchemaScalar) -> String {
        let number =
            switch scalar {
            case .dateReference2001: seconds - referenceDate2001
            case .dateUnixMilliseconds: seconds * 1000
            default: seconds
            }
        return Int64(exactly: number).map(String.init) ?? String(number)
    }

    /// Whether the lower bound of a range is at most the upper one. Nil if a bound does not decode, so that
    /// the bounds cannot be compared.
    func isOrdered(_ lower: JSONValue, before upper: JSONValue, as scalar: SchemaScalar) -> Bool? {
        switch scalar {
        case .string:
            return lower.kind == .string && upper.kind == .string ? lower.string() <= upper.string() : nil
        case .dateISO8601:
            guard lower.kind == .string, upper.kind == .string,
                let low = unsafe UTCDate.seconds(iso8601: lower.utf8()),
                let high = unsafe UTCDate.seconds(iso8601: upper.utf8())
            else { return nil }
            return low <= high
        default:
            let kinds: [JSONKind?] = [.integer, .number]
            guard kinds.contains(lower.kind), kinds.contains(upper.kind) else { return nil }
            if let low = wholeNumber(lower), let high = wholeNumber(upper), scalar.integerRange != nil {
                return low <= high
            }
            if scalar == .float { return Float(lower.double()) <= Float(upper.double()) }
            return lower.double() <= upper.double()
        }
    }
}
