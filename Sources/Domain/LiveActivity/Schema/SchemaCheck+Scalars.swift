internal import JSON

// Numbers, texts and enumerations, by the measured rules of Swift's own decoder.

extension SchemaCheck {
    mutating func check(_ value: JSONValue, _ scalar: SchemaScalar) {
        if let range = scalar.integers { return integer(value, in: range, named: scalar.swiftName) }
        switch scalar {
        case .double, .float: double(value, scalar)
        case .bool:
            _ = expect(
                value, kinds: [.boolean], swiftName: scalar.swiftName,
                remedy: "send true or false, without quotes")
        case .string:
            _ = expect(
                value, kinds: [.string], swiftName: scalar.swiftName, remedy: "send a string in quotes")
        case .dateReference2001, .dateUnixSeconds, .dateUnixMilliseconds: dateNumber(value, scalar)
        case .dateISO8601: dateText(value)
        case .url: url(value)
        case .uuid:
            guard expect(value, kinds: [.string], swiftName: "UUID", remedy: "send it as a string") else {
                return
            }
            if unsafe !TextForm.isUUID(value.utf8) {
                note(value, .malformed, message: "is not a UUID; send 8-4-4-4-12 hexadecimal digits")
            }
        case .data:
            guard
                expect(
                    value, kinds: [.string], swiftName: "Data",
                    remedy: "send its bytes in base64, not as an array")
            else {
                return
            }
            if unsafe !TextForm.isBase64(value.utf8) {
                note(value, .malformed, message: "is not base64; send it padded with =, without line breaks")
            }
        default: break
        }
    }

    private mutating func integer(_ value: JSONValue, in range: ClosedRange<Int128>, named name: String) {
        guard
            expect(
                value, kinds: [.integer, .number], swiftName: name, remedy: "send a number without quotes")
        else { return }
        guard let whole = wholeNumber(value) else {
            return note(
                value, .notWhole, message: "has a fraction, and \(name) takes none; send a whole number")
        }
        if !range.contains(whole) {
            note(
                value, .outOfRange,
                message: "must be from \(range.lowerBound) to \(range.upperBound) for \(name)")
        }
    }

    private mutating func double(_ value: JSONValue, _ scalar: SchemaScalar) {
        let name = scalar.swiftName
        guard
            expect(
                value, kinds: [.integer, .number], swiftName: name, remedy: "send a number without quotes")
        else { return }
        let number = value.double()
        let isTooLarge = scalar == .float && !Float(number).isFinite
        let isTooSmall = TextForm.isUnderflow(value, isFloat: scalar == .float)
        if isTooLarge || isTooSmall {
            note(value, .outOfRange, message: "does not fit \(name); send another number")
        }
    }

    /// Returns the number if Swift accepts it as an integer in any notation: `1`, `1.0`, `1e3`.
    func wholeNumber(_ value: JSONValue) -> Int128? {
        if value.kind == .integer { return Int128(String(number: value)) }
        return Int128(exactly: value.double())
    }

    private mutating func url(_ value: JSONValue) {
        guard expect(value, kinds: [.string], swiftName: "URL", remedy: "send it as a string") else { return }
        switch unsafe URLText.verdict(value.utf8) {
        case .good: break
        case .bad:
            note(value, .malformed, message: "is not a URL; send one like https://example.com/logo.png")
        case .encoded:
            note(
                value, .notPortable,
                message:
                    "has characters that a URL must escape, and iOS before 17 refuses it; percent-encode them"
            )
        }
    }

    // MARK: Enumerations

    mutating func rawName(_ value: JSONValue, _ names: [String]) {
        guard
            expect(
                value, kinds: [.string], swiftName: "an enumeration",
                remedy: "send one of its raw values, a string")
        else {
            return
        }
        if !names.contains(value.string()) {
            note(value, .unknownCase, message: "is not a case of the enumeration; send \(listed(names))")
        }
    }

    mutating func rawNumber(_ value: JSONValue, _ numbers: [Int64]) {
        let kinds: Set<JSONKind> = [.integer, .number]
        guard
            expect(
                value, kinds: kinds, swiftName: "an enumeration",
                remedy: "send one of its raw values, a number")
        else { return }
        guard let number = wholeNumber(value).flatMap({ Int64(exactly: $0) }), numbers.contains(number) else {
            return note(
                value, .unknownCase, message: "is not a case of the enumeration; send \(listed(numbers))")
        }
    }

    mutating func cases(_ value: JSONValue, _ cases: [SchemaCase]) {
        let names = cases.map(\.name)
        let remedy = #"send {"case": {its values}} with \#(listed(names)) for case, {} for no values"#
        guard
            expect(
                value, kinds: [.object], swiftName: "an enumeration whose cases carry values", remedy: remedy)
        else { return }
        let present = value.object().members.filter { names.contains($0.name) }
        guard present.count == 1, let (name, values) = present.first.map({ ($0.name, $0.value) }) else {
            return note(value, .unknownCase, message: "must name one case; \(remedy)")
        }
        guard
            expect(
                values, kinds: [.object], swiftName: "a case",
                remedy: "send its values in an object, {} for none"),
            let found = cases.first(where: { $0.name == name })
        else { return }
        members(of: values, found.values)
    }

    private func listed(_ values: [some CustomStringConvertible]) -> String {
        let shown = values.prefix(8).map(\.description).joined(separator: ", ")
        return values.count > 8 ? "one of \(shown) and \(values.count - 8) more" : "one of \(shown)"
    }
}
