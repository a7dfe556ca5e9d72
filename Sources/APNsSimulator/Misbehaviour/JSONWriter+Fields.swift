internal import JSON

// Writers for fields; what is nil or an empty list is left out.

extension JSONWriter {
    mutating func field(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    mutating func field(_ name: StaticString, _ value: Int?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    mutating func field(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    mutating func field(_ name: StaticString, _ value: Bool) {
        self.name(name)
        self.value(value)
    }

    mutating func list(_ name: StaticString, _ values: [String]) {
        if values.isEmpty { return }
        self.name(name)
        beginArray()
        for value in values { self.value(value) }
        endArray()
    }

    mutating func object(_ name: StaticString, _ fields: (inout JSONWriter) -> Void) {
        self.name(name)
        beginObject()
        fields(&self)
        endObject()
    }
}
