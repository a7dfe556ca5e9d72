public import Identifiers
public import JSON

/// A type of values in reports. If two reports about one field have equal times, `takesPrecedence` decides.
/// That order has no meaning, but every process must use the same one.
@usableFromInline package protocol Mergeable: Sendable, Hashable {
    /// Whether both values have the same bytes. Two spellings of one text are different values.
    func isExactlyEqual(to other: Self) -> Bool
    /// Whether this value wins against another value with the same time. The order is total.
    func takesPrecedence(over other: Self) -> Bool
    func write(to writer: inout JSONWriter)
    /// Reads the value, and reports a wrong value in the document.
    init(reported value: JSONValue)
}

extension Mergeable {
    @inlinable package func isExactlyEqual(to other: Self) -> Bool { self == other }
}

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
