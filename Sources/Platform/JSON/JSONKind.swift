internal import CSimdJSON

/// The kind of a JSON value. A number without a fraction and an exponent that fits 64 bits is an integer.
@usableFromInline
package enum JSONKind: Sendable {
    case null
    case boolean
    case integer
    case number
    case string
    case object
    case array

    init(_ kind: json_kind) {
        switch kind {
        case JSON_NULL: self = .null
        case JSON_FALSE, JSON_TRUE: self = .boolean
        case JSON_INTEGER, JSON_UNSIGNED: self = .integer
        case JSON_DOUBLE: self = .number
        case JSON_STRING: self = .string
        case JSON_OBJECT: self = .object
        default: self = .array
        }
    }

    /// The kind as messages name it.
    package var phrase: String {
        switch self {
        case .null: "null"
        case .boolean: "a boolean"
        case .integer: "an integer"
        case .number: "a number"
        case .string: "a string"
        case .object: "an object"
        case .array: "an array"
        }
    }
}
