internal import JSON

/// One JSON object for programs, on one line.
enum JSONLine {
    /// Returns an object whose fields `write` adds.
    static func text(adding write: (inout JSONWriter) -> Void) -> String {
        var json = JSONWriter()
        json.beginObject()
        write(&json)
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
