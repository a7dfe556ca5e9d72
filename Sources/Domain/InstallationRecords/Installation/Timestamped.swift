public import JSON

/// The newest reported value of one field, and its time. The whole merge rule is: the later value wins. So
/// any order and any repetition of the same reports give the same result.
@usableFromInline package struct Timestamped<Value: Mergeable>: Sendable, Hashable {
    package var value: Value
    package var at: ReportTime

    package init(_ value: Value, at: ReportTime) {
        self.value = value
        self.at = at
    }
}

/// A value that reports contain.
@usableFromInline package protocol Mergeable: Sendable, Hashable {
    /// Whether readers of the topics see the same value.
    func isExactlyEqual(to other: Self) -> Bool
    /// A total order, for two values with the same time.
    func takesPrecedence(over other: Self) -> Bool
    func write(to writer: inout JSONWriter)
    init(reported value: JSONValue)
}

extension Mergeable {
    @inlinable package func isExactlyEqual(to other: Self) -> Bool { self == other }
}

extension JSONWriter {
    mutating func field<Value>(_ name: StaticString, _ said: Timestamped<Value>?) {
        guard let said else { return }
        self.name(name)
        beginArray()
        said.value.write(to: &self)
        elements(of: said.at)
        endArray()
    }
}

extension JSONValue {
    /// Reads a value and its time.
    func timestamped<Value>() -> Timestamped<Value> {
        var elements = array(countMax: 5)
        return Timestamped(Value(reported: elements.next() ?? self), at: elements.reportTime(of: self))
    }
}
