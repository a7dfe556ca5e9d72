internal import JSON

// Writers for values in scripts and the control API that are not plain fields.

extension JSONWriter {
    /// Writes a list of strings. An empty list is omitted.
    mutating func stringList(_ name: StaticString, values: [String]) {
        if values.isEmpty { return }
        self.name(name)
        beginArray()
        for value in values { self.value(value) }
        endArray()
    }

    mutating func object(_ name: StaticString, fields: (inout JSONWriter) -> Void) {
        self.name(name)
        beginObject()
        fields(&self)
        endObject()
    }
}
