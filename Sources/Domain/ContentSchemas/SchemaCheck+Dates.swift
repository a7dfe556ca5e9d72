internal import JSON
internal import Telemetry

// Dates: those that decode, and those that decode to another century.

extension SchemaCheck {
    /// Seconds from the beginning of 1970 to the beginning of 2001, which is the origin of Swift's own dates.
    static let referenceDate2001: Double = 978_307_200
    /// The distance from now within which a date is plausible. Activities live for hours, so this is
    /// generous, even for birthdays of small children.
    static let plausibleSeconds: Double = 5 * 366 * 86_400

    mutating func checkDateNumber(_ value: JSONValue, as scalar: SchemaScalar) {
        let remedy = "send a number, or register the property as date.iso8601 if the app decodes that"
        guard expect(value, kinds: [.integer, .number], swiftName: "Date", remedy: remedy) else { return }
        if TextFormat.underflows(value, isFloat: false) {
            return addFinding(
                at: value, code: .outOfRange, message: "does not fit a Double; send another number")
        }
        let number = value.double()
        guard !isNear(Self.secondsSince1970(from: number, as: scalar)) else { return }
        let others: [(SchemaScalar, String)] = [
            (.dateReference2001, "seconds since 2001"), (.dateUnixSeconds, "seconds since 1970"),
            (.dateUnixMilliseconds, "milliseconds since 1970"),
        ]
        for (other, unit) in others
        where other != scalar && isNear(Self.secondsSince1970(from: number, as: other)) {
            let shown = UTCDate.dayText(secondsSince1970: Self.secondsSince1970(from: number, as: scalar))
            let meant = Self.number(
                forSecondsSince1970: Self.secondsSince1970(from: number, as: other), as: scalar)
            return addFinding(
                at: value, code: .wrongUnit,
                message: "looks like \(unit), and the phone will read it as \(shown); send \(meant)")
        }
    }

    mutating func checkDateText(_ value: JSONValue) {
        guard expect(value, kinds: [.string], swiftName: "Date", remedy: "send it like 2026-11-20T20:00:00Z")
        else { return }
        guard unsafe UTCDate.seconds(iso8601: value.utf8) == nil else { return }
        if unsafe UTCDate.hasFraction(iso8601: value.utf8) {
            addFinding(
                at: value, code: .notPortable,
                message:
                    "has a fraction of a second, which only newer systems decode; send it like 2026-11-20T20:00:00Z"
            )
        } else {
            addFinding(
                at: value, code: .malformed,
                message: "is not a date for Swift; send it like 2026-11-20T20:00:00Z")
        }
    }

    private func isNear(_ seconds: Double) -> Bool { abs(seconds - Double(now)) <= Self.plausibleSeconds }

    /// Returns the time that a number means, in seconds since 1970.
    static func secondsSince1970(from number: Double, as scalar: SchemaScalar) -> Double {
        switch scalar {
        case .dateReference2001: number + referenceDate2001
        case .dateUnixMilliseconds: number / 1000
        default: number
        }
    }

    /// Returns the number that means these seconds since 1970.
    private static func number(forSecondsSince1970 seconds: Double, as scalar: SchemaScalar) -> String {
        let number =
            switch scalar {
            case .dateReference2001: seconds - referenceDate2001
            case .dateUnixMilliseconds: seconds * 1000
            default: seconds
            }
        return Int64(exactly: number).map(String.init) ?? String(number)
    }

    /// Whether the lower bound is at most the upper one. Nil if they cannot be compared because they do not
    /// decode.
    func isOrdered(_ lower: JSONValue, before upper: JSONValue, as scalar: SchemaScalar) -> Bool? {
        switch scalar {
        case .string:
            return lower.kind == .string && upper.kind == .string ? lower.string() <= upper.string() : nil
        case .dateISO8601:
            guard lower.kind == .string, upper.kind == .string,
                let low = unsafe UTCDate.seconds(iso8601: lower.utf8),
                let high = unsafe UTCDate.seconds(iso8601: upper.utf8)
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
