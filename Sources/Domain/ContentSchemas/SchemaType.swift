/// A type in a schema. It describes the JSON that a default `JSONDecoder` accepts for a property of a Swift type.
indirect enum SchemaType: Sendable, Hashable {
    case scalar(SchemaScalar)
    /// A type whose value may be missing or null.
    case optional(SchemaType)
    /// An array, with the type of its elements.
    case array(SchemaType)
    /// A struct: its stored properties by their coding keys.
    case object([SchemaMember])
    case dictionary(keys: SchemaType, values: SchemaType)
    /// An enumeration whose raw values are strings.
    case names([String])
    /// An enumeration whose raw values are integers.
    case numbers([Int64])
    /// An enumeration whose cases may carry values.
    case cases([SchemaCase])
    /// `Range` or `ClosedRange`, with the type of its bounds.
    case range(SchemaType)

    /// The type as a Swift programmer would write it, for messages.
    var swiftName: String {
        switch self {
        case .scalar(let scalar): scalar.swiftName
        case .optional(let wrapped): "\(wrapped.swiftName)?"
        case .array(let element): "[\(element.swiftName)]"
        case .object: "a struct"
        case .dictionary(let keys, let values): "[\(keys.swiftName): \(values.swiftName)]"
        case .names, .numbers, .cases: "an enumeration"
        case .range(let bound): "ClosedRange<\(bound.swiftName)>"
        }
    }

    /// Whether Swift encodes a dictionary with keys of this type as an object. A dictionary with other keys
    /// becomes an array in which keys and values alternate.
    var isObjectKey: Bool { self == .scalar(.string) || self == .scalar(.int) }

    /// Whether the type's JSON is an object, as `content-state` and `attributes` must be.
    var isObject: Bool {
        switch self {
        case .object, .cases, .scalar(.any): true
        case .dictionary(let keys, _): keys.isObjectKey
        default: false
        }
    }

    /// Whether two values of the type can be the bounds of a range.
    var isBound: Bool {
        guard case .scalar(let scalar) = self else { return false }
        return scalar == .string || scalar.isNumber || scalar.isDate
    }
}

/// A property of a struct, or a value that an enumeration's case carries.
struct SchemaMember: Sendable, Hashable {
    let name: String
    let type: SchemaType

    /// Whether the key may be missing. A missing key is an error for any other type, even if the property has
    /// a default value.
    var isOptional: Bool { if case .optional = type { true } else { false } }
}

/// A case of an enumeration, with the values that it carries.
struct SchemaCase: Sendable, Hashable {
    let name: String
    /// The values of the case. Unnamed values are called `_0`, `_1` and so on.
    let values: [SchemaMember]
}
