package import JSON

// What reports say. The order of two values means nothing; it only has to be the same everywhere.

extension String: Sayable {
    package func outranks(_ other: String) -> Bool { other.utf8.lexicographicallyPrecedes(utf8) }
    package func write(to writer: inout JSONWriter) { writer.value(self) }
    package init(said value: JSONValue) { self = value.string() }
}

extension Bool: Sayable {
    package func outranks(_ other: Bool) -> Bool { self && !other }
    package func write(to writer: inout JSONWriter) { writer.value(self) }
    package init(said value: JSONValue) { self = value.bool() }
}

extension Array: Sayable where Element == String {
    package func outranks(_ other: [String]) -> Bool {
        other.lexicographicallyPrecedes(self) { $1.outranks($0) }
    }
    package func write(to writer: inout JSONWriter) {
        writer.beginArray()
        for element in self { writer.value(element) }
        writer.endArray()
    }
    package init(said value: JSONValue) { self = value.names(countMax: Report.tagsMax) }
}

extension RawJSON: Sayable {
    package func outranks(_ other: RawJSON) -> Bool { other.bytes.lexicographicallyPrecedes(bytes) }
    package func write(to writer: inout JSONWriter) { writer.raw(self) }
    package init(said value: JSONValue) { self = value.profileAttributes() }
}

extension Environment: Sayable {
    package func outranks(_ other: Environment) -> Bool { rawValue.outranks(other.rawValue) }
    package func write(to writer: inout JSONWriter) { writer.value(rawValue) }
    package init(said value: JSONValue) { self = value.environment() }
}

extension Recipient: Sayable {
    package func outranks(_ other: Recipient) -> Bool { text.outranks(other.text) }
    package func write(to writer: inout JSONWriter) { writer.value(self) }
    package init(said value: JSONValue) { self = value.recipient() }
}

extension Report.State: Sayable {
    package func outranks(_ other: Report.State) -> Bool { rawValue.outranks(other.rawValue) }
    package func write(to writer: inout JSONWriter) { writer.value(rawValue) }
    package init(said value: JSONValue) { self = value.reportState() ?? .active }
}
