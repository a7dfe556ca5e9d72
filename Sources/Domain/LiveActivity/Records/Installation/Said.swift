public import JSON

/// The newest reported value of one field, and its time. The whole merge rule is: the later value wins. So
/// any order and any repetition of the same reports give the same result.
@usableFromInline package struct Said<Value: Sayable>: Sendable, Hashable {
    package var value: Value
    package var at: ReportTime

    package init(_ value: Value, at: ReportTime) {
        self.value = value
        self.at = at
    }
}

/// A value that reports contain.
@usableFromInline package protocol Sayable: Sendable, Hashable {
    /// Whether readers of the topics see the same value.
    func isExactly(_ other: Self) -> Bool
    /// A total order, for two values with the same time.
    func outranks(_ other: Self) -> Bool
    func write(to writer: inout JSONWriter)
    init(said value: JSONValue)
}

extension Sayable {
    @inlinable package func isExactly(_ other: Self) -> Bool { self == other }
}

extension JSONWriter {
    mutating func field<Value>(_ name: StaticString, _ said: Said<Value>?) {
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
    func said<Value>() -> Said<Value> {
        var elements = array(countMax: 5)
        return Said(Value(said: elements.next() ?? self), at: elements.reportTime(of: self))
    }
}
