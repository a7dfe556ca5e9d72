internal import JSON

// Dates: those that decode, and those that decode to another century.

extension SchemaCheck {
    /// Seconds from the beginning of 1970 to the beginning of 2001, which is the origin of Swift's own dates.
    static let reference2001: Double = 978_307_200
    /// The distance from now within which a date is plausible. Activities live for hours, so this is
    /// generous, even for birthdays of small children.
    static let nearSeconds: Double = 5 * 366 * 86_400

    mutating func dateNumber(_ value: JSONValue, _ scalar: SchemaScalar) {
        let remedy = "send a number, or register the property as date.iso8601 if the app decodes that"
        guard expect(value, kinds: [.integer, .number], swiftName: "Date", remedy: remedy) else { return }
        if TextForm.isUnderflow(value, isFloat: false) {
            return note(value, .outOfRange, message: "does not fit a Double; send another number")
        }
        let number = value.double()
        guard !isNear(Self.seconds(number, scalar)) else { return }
        let others: [(SchemaScalar, String)] = [
            (.dateReference2001, "seconds since 2001"), (.dateUnixSeconds, "seconds since 1970"),
            (.dateUnixMilliseconds, "milliseconds since 1970"),
        ]
        for (other, unit) in others where other != scalar && isNear(Self.seconds(number, other)) {
            let shown = CivilTime.text(Self.seconds(number, scalar))
            let meant = Self.number(Self.seconds(number, other), scalar)
            return note(
                value, .wrongUnit,
                message: "looks like \(unit), and the phone will read it as \(shown); send \(meant)")
        }
    }

    mutating func dateText(_ value: JSONValue) {
        guard expect(value, kinds: [.string], swiftName: "Date", remedy: "send it like 2026-11-20T20:00:00Z")
        else { return }
        guard unsafe CivilTime.seconds(iso8601: value.utf8) == nil else { return }
        if unsafe CivilTime.hasFraction(iso8601: value.utf8) {
            note(
                value, .notPortable,
                message:
                    "has a fraction of a second, which only newer systems decode; send it like 2026-11-20T20:00:00Z"
            )
        } else {
            note(
                value, .malformed, message: "is not a date for Swift; send it like 2026-11-20T20:00:00Z")
        }
    }

    private func isNear(_ seconds: Double) -> Bool { abs(seconds - Double(now)) <= Self.nearSeconds }

    /// Returns the time that a number means, in seconds since 1970.
    static func seconds(_ number: Double, _ scalar: SchemaScalar) -> Double {
        switch scalar {
        case .dateReference2001: number + reference2001
        case .dateUnixMilliseconds: number / 1000
        default: number
        }
    }

    /// Returns the number that means these seconds since 1970.
    private static func number(_ seconds: Double, _ scalar: SchemaScalar) -> String {
        let number =
            switch scalar {
            case .dateReference2001: seconds - reference2001
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
                let low = unsafe CivilTime.seconds(iso8601: lower.utf8),
                let high = unsafe CivilTime.seconds(iso8601: upper.utf8)
            else { return nil }
            return low <= high
        default:
            let kinds: [JSONKind?] = [.integer, .number]
            guard kinds.contains(lower.kind), kinds.contains(upper.kind) else { return nil }
            if let low = wholeNumber(lower), let high = wholeNumber(upper), scalar.integers != nil {
                return low <= high
            }
            if scalar == .float { return Float(lower.double()) <= Float(upper.double()) }
            return lower.double() <= upper.double()
        }
    }
}
