// Members of an object, with their name and value. A field whose value is nil is omitted.

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

    /// Writes a value that a `JSONReader` has accepted, byte for byte.
    package mutating func raw(_ value: RawJSON) {
        unsafe value.bytes.withUnsafeBytes { unsafe raw($0) }
    }

    package mutating func field(_ name: StaticString, _ value: RawJSON?) {
        guard let value else { return }
        self.name(name)
        raw(value)
    }

    /// Writes an array. `write` writes one value for each element.
    @inlinable
    package mutating func list<Element>(
        _ name: StaticString, of elements: [Element], write: (Element, inout JSONWriter) -> Void
    ) {
        self.name(name)
        beginArray()
        for element in elements { write(element, &self) }
        endArray()
    }

    /// Writes an array of objects. `write` writes the members of the object for one element.
    @inlinable
    package mutating func objects<Element>(
        _ name: StaticString, of elements: [Element], write: (Element, inout JSONWriter) -> Void
    ) {
        list(name, of: elements) { element, writer in
            writer.beginObject()
            write(element, &writer)
            writer.endObject()
        }
    }

    /// Writes an array of objects, or nothing if it is empty.
    @inlinable
    package mutating func objects<Element>(
        _ name: StaticString, unlessEmpty elements: [Element], write: (Element, inout JSONWriter) -> Void
    ) {
        if !elements.isEmpty { objects(name, of: elements, write: write) }
    }
}
