internal import Identifiers
internal import JSON

/// A parser of a schema's JSON. It reports each problem at its position, puts `any` in the place of the invalid
/// type, and continues. The notation:
///
/// | JSON | type |
/// |---|---|
/// | `"int"`, `"string?"` | a scalar (`SchemaScalar`), with `?` if it is optional |
/// | `["int"]` | an array |
/// | `{"home": "int", "away": "int"}` | a struct |
/// | `{"$optional": TYPE}`, `{"$range": TYPE}` | an optional, a range |
/// | `{"$dictionary": TYPE, "$keys": TYPE}` | a dictionary. Without `$keys` its keys are strings |
/// | `{"$enum": ["home", "away"]}` | an enumeration with raw values, strings or integers |
/// | `{"$cases": {"goal": {"minute": "int"}}}` | an enumeration whose cases may carry values |
/// | `{"$object": {"$name": "int"}}` | a struct with a name that begins with `$` |
struct SchemaParser {
    /// Number of types that were parsed so far.
    private var typeCount = 0
    /// Whether no problem was found.
    private(set) var isValid = true

    /// Parses a type and the types in it.
    /// - Parameter depth: the nesting depth of the type, from 1.
    mutating func parseType(_ value: JSONValue, depth: Int) -> SchemaType {
        typeCount += 1
        guard depth <= ContentSchema.depthMax else {
            return reject(
                value, because: "is nested deeper than \(ContentSchema.depthMax) types; use \"any\" for it")
        }
        guard typeCount <= ContentSchema.typesMax else {
            // One report is enough: all types after it exceed the limit too.
            return typeCount == ContentSchema.typesMax + 1
                ? reject(value, because: "exceeds the limit of \(ContentSchema.typesMax) types")
                : .scalar(.any)
        }
        switch value.kind {
        case .string: return parseScalar(value)
        case .array: return parseArray(value, depth: depth)
        case .object: return parseObject(value, depth: depth)
        default:
            return reject(
                value, because: "must be a type: a word like \"int\", [a type], or an object of types")
        }
    }

    private mutating func parseScalar(_ value: JSONValue) -> SchemaType {
        let text = value.string()
        let isOptional = text.hasSuffix("?")
        guard let scalar = SchemaScalar(rawValue: isOptional ? String(text.dropLast()) : text) else {
            let scalarNames = SchemaScalar.allCases.map(\.rawValue).joined(separator: ", ")
            return reject(value, because: "must be one of \(scalarNames), followed by ? if it is optional")
        }
        return isOptional ? .optional(.scalar(scalar)) : .scalar(scalar)
    }

    private mutating func parseArray(_ value: JSONValue, depth: Int) -> SchemaType {
        var elements = value.array(countMax: .max)
        guard elements.count == 1, let element = elements.next() else {
            return reject(value, because: "must hold one type, the type of all elements")
        }
        return .array(parseType(element, depth: depth + 1))
    }

    /// Parses a struct, or a constructor: an object with one name that begins with `$`.
    private mutating func parseObject(_ value: JSONValue, depth: Int) -> SchemaType {
        var constructor: (name: String, value: JSONValue)?
        var keys: JSONValue?
        var otherCount = 0
        for (name, member) in value.object().members {
            if name == "$keys" {
                keys = member
            } else if name.hasPrefix("$"), constructor == nil {
                constructor = (name, member)
            } else {
                otherCount += 1
            }
        }
        guard let constructor else {
            if keys != nil { return reject(value, because: "has $keys without $dictionary; give both") }
            return .object(parseMembers(value, depth: depth))
        }
        if otherCount > 0 {
            return reject(
                value,
                because: "mixes \(constructor.name) with other names; properties with $ go into $object")
        }
        if keys != nil, constructor.name != "$dictionary" {
            return reject(value, because: "has $keys beside \(constructor.name); they belong to $dictionary")
        }
        return parseConstructor(constructor.name, value: constructor.value, keys: keys, depth: depth)
    }

    private mutating func parseConstructor(
        _ name: String, value: JSONValue, keys: JSONValue?, depth: Int
    ) -> SchemaType {
        switch name {
        case "$object":
            if value.kind == .object { return .object(parseMembers(value, depth: depth)) }
            return reject(value, because: "must be an object of properties")
        case "$optional":
            let wrapped = parseType(value, depth: depth + 1)
            if case .optional = wrapped { return reject(value, because: "is optional already") }
            return .optional(wrapped)
        case "$enum": return parseRawValues(value)
        case "$cases": return parseCases(value, depth: depth)
        case "$range":
            let bound = parseType(value, depth: depth + 1)
            return bound.isBound
                ? .range(bound) : reject(value, because: "must be a number, a date or a string")
        case "$dictionary":
            let values = parseType(value, depth: depth + 1)
            return .dictionary(
                keys: keys.map { parseKeys($0, depth: depth) } ?? .scalar(.string), values: values)
        default:
            return reject(
                value,
                because: "is not a constructor; use $object, $optional, $enum, $cases, $range, $dictionary")
        }
    }

    /// Parses the type of a dictionary's keys.
    private mutating func parseKeys(_ value: JSONValue, depth: Int) -> SchemaType {
        let type = parseType(value, depth: depth + 1)
        switch type {
        case .scalar, .names, .numbers: return type
        default: return reject(value, because: "must be a word or a $enum")
        }
    }

    private mutating func parseMembers(_ value: JSONValue, depth: Int) -> [SchemaMember] {
        var members: [SchemaMember] = []
        for (name, member) in value.object().members {
            if let problem = NameRules.problem(name) {
                _ = reject(member, because: "has a name that \(problem)")
            }
            members.append(SchemaMember(name: name, type: parseType(member, depth: depth + 1)))
        }
        return members
    }

    private mutating func parseCases(_ value: JSONValue, depth: Int) -> SchemaType {
        guard value.kind == .object, (1...ContentSchema.casesMax).contains(value.object().count) else {
            return reject(
                value, because: "must be an object of 1 to \(ContentSchema.casesMax) cases with their values")
        }
        var cases: [SchemaCase] = []
        for (name, member) in value.object().members {
            if let problem = NameRules.problem(name) {
                _ = reject(member, because: "has a name that \(problem)")
            }
            if member.kind == .object {
                cases.append(SchemaCase(name: name, values: parseMembers(member, depth: depth)))
            } else {
                _ = reject(
                    member, because: "must be an object: the values that the case carries, {} for none")
            }
        }
        return .cases(cases)
    }

    /// Parses the raw values of an enumeration: only strings, or only integers.
    private mutating func parseRawValues(_ value: JSONValue) -> SchemaType {
        guard value.kind == .array, (1...ContentSchema.casesMax).contains(value.array(countMax: .max).count)
        else {
            return reject(value, because: "must be an array of 1 to \(ContentSchema.casesMax) raw values")
        }
        let elements = Array(value.array(countMax: .max))
        if elements.allSatisfy({ $0.kind == .string }) {
            let names = elements.map { $0.string() }
            return Set(names).count == names.count
                ? .names(names) : reject(value, because: "has a raw value twice")
        }
        let numbers = elements.compactMap { $0.kind == .integer ? Int64(String(number: $0)) : nil }
        guard numbers.count == elements.count else {
            return reject(value, because: "must have only strings or only 64-bit integers")
        }
        return Set(numbers).count == numbers.count
            ? .numbers(numbers) : reject(value, because: "has a raw value twice")
    }

    /// Reports the problem and returns the type that replaces the invalid one.
    private mutating func reject(_ value: JSONValue, because message: String) -> SchemaType {
        isValid = false
        value.report(message)
        return .scalar(.any)
    }
}

extension String {
    /// Creates the text of a number exactly as it was written.
    init(number value: JSONValue) { self = unsafe String(decoding: value.raw, as: UTF8.self) }
}
