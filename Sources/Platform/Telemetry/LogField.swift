/// One named value of a log line. The name is constant, so that lines can be searched by it. The value may
/// come from outside. `LogFormat` removes secrets from it and escapes it.
package struct LogField: Sendable {
    package enum Value: Sendable, Equatable {
        case string(String)
        case integer(Int)
        case number(Double)
        case boolean(Bool)
    }

    package let name: StaticString
    package let value: Value

    package init(name: StaticString, value: Value) {
        self.name = name
        self.value = value
    }

    package static func field(_ name: StaticString, _ value: String) -> LogField {
        LogField(name: name, value: .string(value))
    }

    package static func field(_ name: StaticString, _ value: some BinaryInteger) -> LogField {
        LogField(name: name, value: .integer(Int(clamping: value)))
    }

    package static func field(_ name: StaticString, _ value: Double) -> LogField {
        LogField(name: name, value: .number(value))
    }

    package static func field(_ name: StaticString, _ value: Bool) -> LogField {
        LogField(name: name, value: .boolean(value))
    }

    package static func field(_ name: StaticString, _ value: any Error) -> LogField {
        LogField(name: name, value: .string("\(value)"))
    }
}
