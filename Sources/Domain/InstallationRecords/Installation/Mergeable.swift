public import Identifiers
public import JSON

// The values that reports contain. The order of two values has no meaning, but must be the same everywhere.

extension String: Mergeable {
    @inlinable package func takesPrecedence(over other: String) -> Bool {
        other.utf8.lexicographicallyPrecedes(utf8)
    }
    @usableFromInline package func write(to writer: inout JSONWriter) { writer.value(self) }
    @usableFromInline package init(reported value: JSONValue) { self = value.string() }
}

extension Bool: Mergeable {
    @inlinable package func takesPrecedence(over other: Bool) -> Bool { self && !other }
    @usableFromInline package func write(to writer: inout JSONWriter) { writer.value(self) }
    @usableFromInline package init(reported value: JSONValue) { self = value.bool() }
}

extension Array: Mergeable where Element == String {
    @inlinable package func takesPrecedence(over other: [String]) -> Bool {
        other.lexicographicallyPrecedes(self) { $1.takesPrecedence(over: $0) }
    }
    @usableFromInline package func write(to writer: inout JSONWriter) {
        writer.beginArray()
        for element in self { writer.value(element) }
        writer.endArray()
    }
    @usableFromInline package init(reported value: JSONValue) { self = value.names(countMax: Report.tagsMax) }
}

extension RawJSON: Mergeable {
    @usableFromInline package func takesPrecedence(over other: RawJSON) -> Bool {
        other.bytes.lexicographicallyPrecedes(bytes)
    }
    @usableFromInline package func write(to writer: inout JSONWriter) { writer.raw(self) }
    @usableFromInline package init(reported value: JSONValue) { self = value.profileAttributes() }
}

extension Environment: Mergeable {
    @inlinable package func takesPrecedence(over other: Environment) -> Bool {
        rawValue.takesPrecedence(over: other.rawValue)
    }
    @usableFromInline package func write(to writer: inout JSONWriter) { writer.value(rawValue) }
    @usableFromInline package init(reported value: JSONValue) { self = value.environment() }
}

extension Recipient: Mergeable {
    @usableFromInline package func takesPrecedence(over other: Recipient) -> Bool {
        text.takesPrecedence(over: other.text)
    }
    @usableFromInline package func write(to writer: inout JSONWriter) { writer.value(self) }
    @usableFromInline package init(reported value: JSONValue) { self = value.recipient() }
}

extension Report.ActivityState: Mergeable {
    @inlinable package func takesPrecedence(over other: Report.ActivityState) -> Bool {
        rawValue.takesPrecedence(over: other.rawValue)
    }
    @usableFromInline package func write(to writer: inout JSONWriter) { writer.value(rawValue) }
    @usableFromInline package init(reported value: JSONValue) { self = value.reportState() ?? .active }
}
