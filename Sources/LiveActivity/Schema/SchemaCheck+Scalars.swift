internal import JSON

// Numbers, texts, and the enumerations, by the rules that were measured with Swift's own decoder.

extension SchemaCheck {
    mutating func check(_ value: JSONValue, _ scalar: SchemaScalar) {
        if let range = scalar.integers { return integer(value, range, scalar.swiftName) }
        switch scalar {
        case .double, .float: double(value, scalar)
        case .bool: _ = expect(value, [.boolean], scalar.swiftName, "send true or false, without quotes")
        case .string: _ = expect(value, [.string], scalar.swiftName, "send a string in quotes")
        case .dateReference2001, .dateUnixSeconds, .dateUnixMilliseconds: dateNumber(value, scalar)
        case .dateISO8601: dateText(value)
        case .url: url(value)
        case .uuid:
            guard expect(value, [.string], "UUID", "send it as a string") else { return }
            if unsafe !TextForm.isUUID(value.utf8) {
                note(value, .malformed, "is no UUID; send 8-4-4-4-12 hexadecimal digits")
            }
        case .data:
            guard expect(value, [.string], "Data", "send its bytes in base64, not as an array") else {
                return
            }
            if unsafe !TextForm.isBase64(value.utf8) {
                note(value, .malformed, "is no base64; send it padded with =, without line breaks")
            }
        default: break
        }
    }

    private mutating func integer(_ value: JSONValue, _ range: ClosedRange<Int128>, _ name: String) {
        guard expect(value, [.integer, .number], name, "send a number without quotes") else { return }
        guard let whole = wholeNumber(value) else {
            return note(value, .notWhole, "has a fraction, and \(name) takes none; send a whole number")
        }
        if !range.contains(whole) {
            note(value, .outOfRange, "must be from \(range.lowerBound) to \(range.upperBound) for \(name)")
        }
    }

    private mutating func double(_ value: JSONValue, _ scalar: SchemaScalar) {
        let name = scalar.swiftName
        guard expect(value, [.integer, .number], name, "send a number without quotes") else { return }
        let number = value.double()
        let isTooLarge = scalar == .float && !Float(number).isFinite
        let isTooSmall = TextForm.isUnderflow(value, isFloat: scalar == .float)
        if isTooLarge || isTooSmall { note(value, .outOfRange, "does not fit \(name); send another number") }
    }

    /// A number that Swift takes for a whole one, however it is written: `1`, `1.0`, `1e3`.
    func wholeNumber(_ value: JSONValue) -> Int128? {
        if value.kind == .integer { return Int128(String(number: value)) }
        return Int128(exactly: value.double())
    }

    private mutating func url(_ value: JSONValue) {
        guard expect(value, [.string], "URL", "send it as a string") else { return }
        switch unsafe URLText.verdict(value.utf8) {
        case .good: break
        case .bad:
            note(value, .malformed, "is no URL; send one like https://example.com/logo.png")
        case .encoded:
            note(
                value, .notPortable,
                "has characters that a URL must escape, and iOS before 17 refuses it; percent-encode them")
        }
    }

    // MARK: Enumerations

    mutating func rawName(_ value: JSONValue, _ names: [String]) {
        guard expect(value, [.string], "an enumeration", "send one of its raw values, a string") else {
            return
        }
        if !names.contains(value.string()) {
            note(value, .unknownCase, "is no case of the enumeration; send \(listed(names))")
        }
    }

    mutating func rawNumber(_ value: JSONValue, _ numbers: [Int64]) {
        let kinds: Set<JSONKind> = [.integer, .number]
        guard expect(value, kinds, "an enumeration", "send one of its raw values, a number") else { return }
        guard let number = wholeNumber(value).flatMap({ Int64(exactly: $0) }), numbers.contains(number) else {
            return note(value, .unknownCase, "is no case of the enumeration; send \(listed(numbers))")
        }
    }

    mutating func cases(_ value: JSONValue, _ cases: [SchemaCase]) {
        let names = cases.map(\.name)
        let remedy = #"send {"case": {its values}} with \#(listed(names)) for case, {} for no values"#
        guard expect(value, [.object], "an enumeration whose cases carry values", remedy) else { return }
        let present = value.object().members.filter { names.contains($0.name) }
        guard present.count == 1, let (name, values) = present.first.map({ ($0.name, $0.value) }) else {
            return note(value, .unknownCase, "must name one case; \(remedy)")
        }
        guard expect(values, [.object], "a case", "send its values in an object, {} for none"),
            let found = cases.first(where: { $0.name == name })
        else { return }
        members(of: values, found.values)
    }

    private func listed(_ values: [some CustomStringConvertible]) -> String {
        let shown = values.prefix(8).map(\.description).joined(separator: ", ")
        return values.count > 8 ? "one of \(shown) and \(values.count - 8) more" : "one of \(shown)"
    }
}
