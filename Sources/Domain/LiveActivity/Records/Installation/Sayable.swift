public import JSON

// The values that reports contain. The order of two values has no meaning, but must be the same everywhere.

extension String: Sayable {
    @inlinable package func outranks(_ other: String) -> Bool { other.utf8.lexicographicallyPrecedes(utf8) }
    @usableFromInline package func write(to writer: inout JSONWriter) { writer.value(self) }
    @usableFromInline package init(said value: JSONValue) { self = value.string() }
}

extension Bool: Sayable {
    @inlinable package func outranks(_ other: Bool) -> Bool { self && !other }
    @usableFromInline package func write(to writer: inout JSONWriter) { writer.value(self) }
    @usableFromInline package init(said value: JSONValue) { self = value.bool() }
}

extension Array: Sayable where Element == String {
    @inlinable package func outranks(_ other: [String]) -> Bool {
        other.lexicographicallyPrecedes(self) { $1.outranks($0) }
    }
    @usableFromInline package func write(to writer: inout JSONWriter) {
        writer.beginArray()
        for element in self { writer.value(element) }
        writer.endArray()
    }
    @usableFromInline package init(said value: JSONValue) { self = value.names(countMax: Report.tagsMax) }
}

extension RawJSON: Sayable {
    @usableFromInline package func outranks(_ other: RawJSON) -> Bool {
        other.bytes.lexicographicallyPrecedes(bytes)
    }
    @usableFromInline package func write(to writer: inout JSONWriter) { writer.raw(self) }
    @usableFromInline package init(said value: JSONValue) { self = value.profileAttributes() }
}

extension Environment: Sayable {
    @inlinable package func outranks(_ other: Environment) -> Bool { rawValue.outranks(other.rawValue) }
    @usableFromInline package func write(to writer: inout JSONWriter) { writer.value(rawValue) }
    @usableFromInline package init(said value: JSONValue) { self = value.environment() }
}

extension Recipient: Sayable {
    @usableFromInline package func outranks(_ other: Recipient) -> Bool { text.outranks(other.text) }
    @usableFromInline package func write(to writer: inout JSONWriter) { writer.value(self) }
    @usableFromInline package init(said value: JSONValue) { self = value.recipient() }
}

extension Report.State: Sayable {
    @inlinable package func outranks(_ other: Report.State) -> Bool { rawValue.outranks(other.rawValue) }
    @usableFromInline package func write(to writer: inout JSONWriter) { writer.value(rawValue) }
    @usableFromInline package init(said value: JSONValue) { self = value.reportState() ?? .active }
}
