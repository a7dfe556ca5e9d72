// Fields with name and value. A nil value is omitted.

extension JSONWriter {
    @inlinable @inline(always)
    package mutating func field(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    @inlinable @inline(always)
    package mutating func field(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    @inlinable @inline(always)
    package mutating func field(_ name: StaticString, _ value: Int?) { field(name, value.map(Int64.init)) }

    @inlinable @inline(always)
    package mutating func field(_ name: StaticString, _ value: Double?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    @inlinable @inline(always)
    package mutating func field(_ name: StaticString, _ value: Bool?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    @inlinable @inline(always)
    package mutating func field(_ name: StaticString, _ values: [String]?) {
        guard let values else { return }
        self.name(name)
        beginArray()
        for value in values { self.value(value) }
        endArray()
    }

    package mutating func list<Element>(
        _ name: StaticString, of elements: [Element], write: (Element, inout JSONWriter) -> Void
    ) {
        self.name(name)
        beginArray()
        for element in elements { write(element, &self) }
        endArray()
    }

    /// Writes an array of objects. `write` adds the members of each.
    package mutating func objects<Element>(
        _ name: StaticString, of elements: [Element], write: (Element, inout JSONWriter) -> Void
    ) {
        list(name, of: elements) { element, writer in
            writer.beginObject()
            write(element, &writer)
            writer.endObject()
        }
    }
}
