internal import JSON
internal import LiveActivity

/// A JSON value for comparisons. Numbers are compared by value, and objects regardless of the order of their
/// members.
package indirect enum ComparedJSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    /// An integer that a `Double` cannot represent exactly.
    case integer(Int)
    case text(String)
    case array([ComparedJSON])
    case object([String: ComparedJSON])

    init(from value: JSONValue) {
        switch value.kind {
        case .boolean: self = .bool(value.bool())
        case .integer:
            let integer = value.int()
            self = Double(exactly: integer).map { .number($0) } ?? .integer(integer)
        case .number: self = .number(value.double())
        case .string: self = .text(value.string())
        case .array:
            var elements = value.array(countMax: .max)
            var list: [ComparedJSON] = []
            while let element = elements.next() { list.append(ComparedJSON(from: element)) }
            self = .array(list)
        case .object:
            var object: [String: ComparedJSON] = [:]
            for (name, member) in value.object().members { object[name] = ComparedJSON(from: member) }
            self = .object(object)
        case .null, nil: self = .null
        }
    }

    /// Parses a value. Returns nil if it is not JSON or has numbers that cannot be represented.
    init?(_ raw: RawJSON) {
        guard let value = try? JSONReader().read(raw.bytes, decode: { ComparedJSON(from: $0) }) else {
            return nil
        }
        self = value
    }

    /// The value at a pointer, or nil if it does not exist.
    subscript(_ pointer: JSONPointer) -> ComparedJSON? {
        var found = self
        for part in pointer.parts {
            switch found {
            case .object(let members):
                guard let member = members[part] else { return nil }
                found = member
            case .array(let elements):
                guard let index = Int(part), String(index) == part, elements.indices.contains(index) else {
                    return nil
                }
                found = elements[index]
            default: return nil
            }
        }
        return found
    }
}

/// A JSON pointer (RFC 6901) such as `/score/home`. Empty for the whole value.
package struct JSONPointer: Sendable, Hashable {
    static let whole = JSONPointer(parts: [])

    let parts: [String]

    private init(parts: [String]) { self.parts = parts }

    /// Parses a pointer. Returns nil if the text is not a pointer.
    package init?(parsing text: String) {
        if text.isEmpty {
            parts = []
            return
        }
        guard text.hasPrefix("/") else { return nil }
        var parts: [String] = []
        for part in text.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            var plain = ""
            var isEscaped = false
            for character in part {
                if isEscaped {
                    guard character == "0" || character == "1" else { return nil }
                    plain.append(character == "0" ? "~" : "/")
                    isEscaped = false
                } else if character == "~" {
                    isEscaped = true
                } else {
                    plain.append(character)
                }
            }
            if isEscaped { return nil }
            parts.append(plain)
        }
        self.parts = parts
    }
}
