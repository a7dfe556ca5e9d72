internal import JSON

/// A table for people. Columns are as wide as their widest cell, and numbers are right-aligned.
struct Table {
    private let headers: [String]
    private let rows: [[String]]

    init(headers heads: [String], rows: [[String]]) {
        self.headers = heads
        self.rows = rows
    }

    var text: String {
        let widths = headers.indices.map { column in ([headers] + rows).map { $0[column].count }.max() ?? 0 }
        let isNumber = headers.indices.map { column in
            rows.allSatisfy { Int($0[column]) != nil || $0[column] == "–" }
        }
        let lines = ([headers] + rows).map { row in
            row.indices.map { column in
                let blanks = String(repeating: " ", count: widths[column] - row[column].count)
                return isNumber[column] ? blanks + row[column] : row[column] + blanks
            }.joined(separator: "  ")
        }
        return lines.joined(separator: "\n")
    }
}

/// One JSON object for programs, on one line.
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

    var text: String {
        mutating get {
            writer.endObject()
            return String(decoding: writer.bytes, as: UTF8.self)
        }
    }
}
