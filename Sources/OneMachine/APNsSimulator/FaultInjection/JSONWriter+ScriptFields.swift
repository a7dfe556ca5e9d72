internal import JSON

/// Writers for fields of fault scripts and of the control API whose values are lists or objects.
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
