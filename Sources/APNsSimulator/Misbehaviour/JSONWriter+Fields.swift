internal import JSON

// Writers for what scripts and the control API have besides plain fields.

extension JSONWriter {
    /// An empty list is left out.
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
