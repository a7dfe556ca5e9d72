internal import JSON

// The checks of numbers, texts and enumerations. They follow the behavior of Swift's `JSONDecoder`.

extension SchemaCheck {
    /// Checks a value against a type that is neither an array nor an object in JSON.
    mutating func check(_ value: JSONValue, against scalar: SchemaScalar) {
        if let range = scalar.integerRange { return checkInteger(value, in: range, named: scalar.swiftName) }
        switch scalar {
        case .double, .float: checkFloatingPoint(value, as: scalar)
        case .bool:
            _ = expect(
                value, kinds: [.boolean], swiftName: scalar.swiftName,
                remedy: "send true or false, without quotes")
        case .string:
            _ = expect(
                value, kinds: [.string], swiftName: scalar.swiftName, remedy: "send a string in quotes")
        case .dateReference2001, .dateUnixSeconds, .dateUnixMilliseconds: checkDateNumber(value, as: scalar)
        case .dateISO8601: checkDateText(value)
        case .url: checkURL(value)
        case .uuid: checkUUID(value)
        case .data: checkData(value)
        // Integers were checked above, and `any` accepts every value.
        default: break
        }
    }

    // MARK: Numbers

    private mutating func checkInteger(_ value: JSONValue, in range: ClosedRange<Int128>, named name: String)
    {
        guard
            expect(
                value, kinds: [.integer, .number], swiftName: name, remedy: "send a number without quotes")
        else { return }
        guard let number = wholeNumber(value) else {
            return addFinding(
                at: value, code: .notWhole,
                message: "has a fraction, and \(name) takes none; send a whole number")
        }
        if !range.contains(number) {
            addFinding(
                at: value, code: .outOfRange,
                message: "must be from \(range.lowerBound) to \(range.upperBound) for \(name)")
        }
    }

    private mutating func checkFloatingPoint(_ value: JSONValue, as scalar: SchemaScalar) {
        let name = scalar.swiftName
        guard
            expect(
                value, kinds: [.integer, .number], swiftName: name, remedy: "send a number without quotes")
        else { return }
        let number = value.double()
        let isTooLarge = scalar == .float && !Float(number).isFinite
        let isTooSmall = TextFormat.underflows(value, isFloat: scalar == .float)
        if isTooLarge || isTooSmall {
            addFinding(at: value, code: .outOfRange, message: "does not fit \(name); send another number")
        }
    }

    /// Returns the number if Swift accepts it as an integer in any notation: `1`, `1.0`, `1e3`.
    func wholeNumber(_ value: JSONValue) -> Int128? {
        if value.kind == .integer { return Int128(String(number: value)) }
        return Int128(exactly: value.double())
    }

    // MARK: Texts

    private mutating func checkUUID(_ value: JSONValue) {
        guard expect(value, kinds: [.string], swiftName: "UUID", remedy: "send it as a string") else {
            return
        }
        if unsafe !TextFormat.isUUID(value.utf8()) {
            addFinding(
                at: value, code: .malformed, message: "is not a UUID; send 8-4-4-4-12 hexadecimal digits")
        }
    }

    private mutating func checkData(_ value: JSONValue) {
        guard
            expect(
                value, kinds: [.string], swiftName: "Data",
                remedy: "send its bytes in base64, not as an array")
        else { return }
        if unsafe !TextFormat.isBase64(value.utf8()) {
            addFinding(
                at: value, code: .malformed,
                message: "is not base64; send it padded with =, without line breaks")
        }
    }

    private mutating func checkURL(_ value: JSONValue) {
        guard expect(value, kinds: [.string], swiftName: "URL", remedy: "send it as a string") else { return }
        switch unsafe URLValidation.validate(value.utf8()) {
        case .valid: break
        case .invalid:
            addFinding(
                at: value, code: .malformed,
                message: "is not a URL; send one like https://example.com/logo.png")
        case .needsEscaping:
            addFinding(
                at: value, code: .notPortable,
                message:
                    "has characters that a URL must escape, and iOS before 17 refuses it; percent-encode them"
            )
        }
    }

    // MARK: Enumerations

    /// Checks a value against an enumeration whose raw values are strings.
    mutating func checkRawName(_ value: JSONValue, in names: [String]) {
        guard
            expect(
                value, kinds: [.string], swiftName: "an enumeration",
                remedy: "send one of its raw values, a string")
        else {
            return
        }
        if !names.contains(value.string()) {
            addFinding(
                at: value, code: .unknownCase,
                message: "is not a case of the enumeration; send \(listText(of: names))")
        }
    }

    /// Checks a value against an enumeration whose raw values are integers.
    mutating func checkRawNumber(_ value: JSONValue, in numbers: [Int64]) {
        let kinds: Set<JSONKind> = [.integer, .number]
        guard
            expect(
                value, kinds: kinds, swiftName: "an enumeration",
                remedy: "send one of its raw values, a number")
        else { return }
        guard let number = wholeNumber(value).flatMap({ Int64(exactly: $0) }), numbers.contains(number) else {
            return addFinding(
                at: value, code: .unknownCase,
                message: "is not a case of the enumeration; send \(listText(of: numbers))")
        }
    }

    /// Checks a value such as `{"goal": {"minute": 12}}`: the name of the case, and its associated values.
    mutating func checkCases(of value: JSONValue, against cases: [SchemaCase]) {
        let names = cases.map(\.name)
        let remedy = #"send {"case": {its values}} with \#(listText(of: names)) for case, {} for no values"#
        guard
            expect(
                value, kinds: [.object], swiftName: "an enumeration whose cases carry values", remedy: remedy)
        else { return }
        // Other members are ignored, as by Swift's decoder.
        let caseMembers = value.object().members.filter { names.contains($0.name) }
        guard caseMembers.count == 1, let (name, values) = caseMembers.first.map({ ($0.name, $0.value) })
        else {
            return addFinding(at: value, code: .unknownCase, message: "must name one case; \(remedy)")
        }
        guard
            expect(
                values, kinds: [.object], swiftName: "a case",
                remedy: "send its values in an object, {} for none"),
            let namedCase = cases.first(where: { $0.name == name })
        else { return }
        checkMembers(of: values, against: namedCase.values)
    }

    /// Limit on the values that a message lists, so that it stays short.
    private static let listedMax = 8

    /// Returns the possible values for a message, for example `one of home, away and 3 more`.
    private func listText(of values: [some CustomStringConvertible]) -> String {
        let listed = values.prefix(Self.listedMax).map(\.description).joined(separator: ", ")
        let omittedCount = values.count - Self.listedMax
        return omittedCount > 0 ? "one of \(listed) and \(omittedCount) more" : "one of \(listed)"
    }
}
