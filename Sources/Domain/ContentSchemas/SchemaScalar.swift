/// The types whose values are neither arrays nor objects in JSON. The raw value is the type's name in a schema.
enum SchemaScalar: String, Sendable, Hashable, CaseIterable {
    case int, int8, int16, int32, int64
    case uint, uint8, uint16, uint32, uint64
    case double, float, bool, string
    /// Swift's own encoding of `Date`: seconds since the beginning of 2001.
    case dateReference2001 = "date.reference2001"
    case dateUnixSeconds = "date.unixSeconds"
    case dateUnixMilliseconds = "date.unixMilliseconds"
    case dateISO8601 = "date.iso8601"
    case url, uuid, data
    /// A type with a custom decoder, which cannot be checked here.
    case any

    /// The type as a Swift programmer would write it, for messages.
    var swiftName: String {
        switch self {
        // `uint8` becomes `UInt8`.
        case .uint, .uint8, .uint16, .uint32, .uint64: "UI" + rawValue.dropFirst(2)
        case .dateReference2001, .dateUnixSeconds, .dateUnixMilliseconds, .dateISO8601: "Date"
        case .url, .uuid: rawValue.uppercased()
        case .any: "a type with a custom decoder"
        default: rawValue.prefix(1).uppercased() + rawValue.dropFirst()
        }
    }

    /// The range of an integer type, or nil for any other type.
    var integerRange: ClosedRange<Int128>? {
        switch self {
        case .int, .int64: bounds(of: Int64.self)
        case .int8: bounds(of: Int8.self)
        case .int16: bounds(of: Int16.self)
        case .int32: bounds(of: Int32.self)
        case .uint, .uint64: bounds(of: UInt64.self)
        case .uint8: bounds(of: UInt8.self)
        case .uint16: bounds(of: UInt16.self)
        case .uint32: bounds(of: UInt32.self)
        default: nil
        }
    }

    /// Returns the range of an integer type. All of them fit into `Int128`.
    private func bounds<Integer: FixedWidthInteger>(of type: Integer.Type) -> ClosedRange<Int128> {
        Int128(type.min)...Int128(type.max)
    }

    /// Whether the type is an integer or a floating-point number. Dates are not, although some are numbers in
    /// JSON.
    var isNumber: Bool { integerRange != nil || self == .double || self == .float }

    var isDate: Bool {
        switch self {
        case .dateReference2001, .dateUnixSeconds, .dateUnixMilliseconds, .dateISO8601: true
        default: false
        }
    }
}
