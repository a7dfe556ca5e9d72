internal import JSON

/// Reads a schema from its JSON. A problem is reported at its position, and `any` replaces the invalid type.
struct SchemaReading {
    private var types = 0
    /// Whether no problem was found.
    private(set) var isSound = true

    private mutating func note(_ value: JSONValue, _ message: String) -> SchemaType {
        isSound = false
        value.report(message)
        return .scalar(.any)
    }

    mutating func type(_ value: JSONValue, depth: Int) -> SchemaType {
        types += 1
        guard depth <= ContentSchema.depthMax else {
            return note(value, "is nested deeper than \(ContentSchema.depthMax) types; use \"any\" for it")
        }
        guard types <= ContentSchema.typesMax else {
            // One report is enough: all types after it exceed the limit too.
            return types == ContentSchema.typesMax + 1
                ? note(value, "exceeds the limit of \(ContentSchema.typesMax) types") : .scalar(.any)
        }
        switch value.kind {
        case .string: return word(value)
        case .array: return array(value, depth)
        case .object: return object(value, depth)
        default:
            return note(value, "must be a type: a word like \"int\", [a type], or an object of types")
        }
    }

    private mutating func word(_ value: JSONValue) -> SchemaType {
        let text = value.string()
        let isOptional = text.hasSuffix("?")
        guard let scalar = SchemaScalar(rawValue: isOptional ? String(text.dropLast()) : text) else {
            let words = SchemaScalar.allCases.map(\.rawValue).joined(separator: ", ")
            return note(value, "must be one of \(words), followed by ? if it is optional")
        }
        return isOptional ? .optional(.scalar(scalar)) : .scalar(scalar)
    }

    private mutating func array(_ value: JSONValue, _ depth: Int) -> SchemaType {
        var elements = value.array(countMax: .max)
        guard elements.count == 1, let element = elements.next() else {
            return note(value, "must hold one type, the type of all elements")
        }
        return .array(type(element, depth: depth + 1))
    }

    private mutating func object(_ value: JSONValue, _ depth: Int) -> SchemaType {
        var built: (word: String, value: JSONValue)?
        var keys: JSONValue?
        var others = 0
        for (name, member) in value.object().members {
            if name == "$keys" {
                keys = member
            } else if name.hasPrefix("$"), built == nil {
                built = (name, member)
            } else {
                others += 1
            }
        }
        guard let built else {
            if keys != nil { return note(value, "has $keys without $dictionary; give both") }
            return .object(members(value, depth))
        }
        if others > 0 {
            return note(value, "mixes \(built.word) with other names; properties with $ go into $object")
        }
        if keys != nil, built.word != "$dictionary" {
            return note(value, "has $keys beside \(built.word); they belong to $dictionary")
        }
        return constructed(built.word, value: built.value, keys: keys, depth: depth)
    }

    private mutating func constructed(
        _ word: String, value: JSONValue, keys: JSONValue?, depth: Int
    ) -> SchemaType {
        switch word {
        case "$object":
            if value.kind == .object { return .object(members(value, depth)) }
            return note(value, "must be an object of properties")
        case "$optional":
            let wrapped = type(value, depth: depth + 1)
            if case .optional = wrapped { return note(value, "is optional already") }
            return .optional(wrapped)
        case "$enum": return rawValues(value)
        case "$cases": return cases(value, depth)
        case "$range":
            let bound = type(value, depth: depth + 1)
            return bound.isBound ? .range(bound) : note(value, "must be a number, a date or a string")
        case "$dictionary":
            let values = type(value, depth: depth + 1)
            return .dictionary(keys: keys.map { self.keys($0, depth) } ?? .scalar(.string), values: values)
        default:
            return note(
                value, "is not a constructor; use $object, $optional, $enum, $cases, $range, $dictionary")
        }
    }

    private mutating func keys(_ value: JSONValue, _ depth: Int) -> SchemaType {
        let type = type(value, depth: depth + 1)
        switch type {
        case .scalar, .names, .numbers: return type
        default: return note(value, "must be a word or a $enum")
        }
    }

    private mutating func members(_ value: JSONValue, _ depth: Int) -> [SchemaMember] {
        var members: [SchemaMember] = []
        for (name, member) in value.object().members {
            if let problem = Name.problem(name) { _ = note(member, "has a name that \(problem)") }
            members.append(SchemaMember(name: name, type: type(member, depth: depth + 1)))
        }
        return members
    }

    private mutating func cases(_ value: JSONValue, _ depth: Int) -> SchemaType {
        guard value.kind == .object, (1...ContentSchema.casesMax).contains(value.object().count) else {
            return note(value, "must be an object of 1 to \(ContentSchema.casesMax) cases with their values")
        }
        var cases: [SchemaCase] = []
        for (name, member) in value.object().members {
            if let problem = Name.problem(name) { _ = note(member, "has a name that \(problem)") }
            if member.kind == .object {
                cases.append(SchemaCase(name: name, values: members(member, depth)))
            } else {
                _ = note(member, "must be an object: the values that the case carries, {} for none")
            }
        }
        return .cases(cases)
    }

    private mutating func rawValues(_ value: JSONValue) -> SchemaType {
        guard value.kind == .array, (1...ContentSchema.casesMax).contains(value.array(countMax: .max).count)
        else { return note(value, "must be an array of 1 to \(ContentSchema.casesMax) raw values") }
        let elements = Array(value.array(countMax: .max))
        if elements.allSatisfy({ $0.kind == .string }) {
            let names = elements.map { $0.string() }
            return Set(names).count == names.count ? .names(names) : note(value, "has a raw value twice")
        }
        let numbers = elements.compactMap { $0.kind == .integer ? Int64(String(number: $0)) : nil }
        guard numbers.count == elements.count else {
            return note(value, "must have only strings or only 64-bit integers")
        }
        return Set(numbers).count == numbers.count ? .numbers(numbers) : note(value, "has a raw value twice")
    }
}

extension String {
    /// Creates the text of a number exactly as it was written.
    init(number value: JSONValue) { self = unsafe String(decoding: value.raw, as: UTF8.self) }
}
