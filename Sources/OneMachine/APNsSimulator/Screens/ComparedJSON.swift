internal import JSON

/// A JSON value that can be compared with another: numbers by value, so that 1 equals 1.0, and objects
/// regardless of the order of their members.
package indirect enum ComparedJSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    /// An integer that a `Double` cannot represent exactly.
    case integer(Int)
    case text(String)
    case array([ComparedJSON])
    case object([String: ComparedJSON])

    /// Reads a value. A missing value counts as null.
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
        var value = self
        for part in pointer.parts {
            switch value {
            case .object(let members):
                guard let member = members[part] else { return nil }
                value = member
            case .array(let elements):
                // An index has no sign and no leading zeros.
                guard let index = Int(part), String(index) == part, elements.indices.contains(index) else {
                    return nil
                }
                value = elements[index]
            default: return nil
            }
        }
        return value
    }
}
