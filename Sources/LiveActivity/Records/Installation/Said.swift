public import JSON

/// What was said last about one thing, and when. It is the whole rule by which reports merge: the later
/// stands, so any order and any repetition of the same reports comes to the same.
@usableFromInline package struct Said<Value: Sayable>: Sendable, Hashable {
    package var value: Value
    package var at: ReportTime

    package init(_ value: Value, at: ReportTime) {
        self.value = value
        self.at = at
    }
}

/// A value that reports bring.
@usableFromInline package protocol Sayable: Sendable, Hashable {
    /// Whether it is the same to whoever reads the topics.
    func isExactly(_ other: Self) -> Bool
    /// A total order, for two values that were said at the same time.
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
    /// A value and its times.
    func said<Value>() -> Said<Value> {
        var elements = array(countMax: 5)
        return Said(Value(said: elements.next() ?? self), at: elements.reportTime(of: self))
    }
}
