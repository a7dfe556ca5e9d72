internal import JSON

/// One JSON object for programs, on one line. The caller adds the fields and then reads `text` once.
struct JSONLine: ~Copyable {
    private var writer = JSONWriter()

    init() { writer.beginObject() }

    /// Returns a line whose fields `write` adds.
    static func text(adding write: (inout JSONWriter) -> Void) -> String {
        var line = JSONLine()
        write(&line.writer)
        return line.text
    }

    mutating func field(_ name: StaticString, _ value: String) {
        writer.name(name)
        writer.value(value)
    }

    mutating func field(_ name: StaticString, _ value: Int64) {
        writer.name(name)
        writer.value(value)
    }

    mutating func field(_ name: StaticString, _ value: Bool) {
        writer.name(name)
        writer.value(value)
    }

    mutating func field(_ name: StaticString, _ counts: [(key: String, value: Int)]) {
        writer.name(name)
        writer.beginObject()
        for (key, count) in counts {
            writer.name(key)
            writer.value(count)
        }
        writer.endObject()
    }

    mutating func field(_ name: StaticString, _ values: [String]) { writer.field(name, values) }

    /// The object with its closing brace. No field can be added after it.
    var text: String {
        mutating get {
            writer.endObject()
            return String(decoding: writer.bytes, as: UTF8.self)
        }
    }
}
