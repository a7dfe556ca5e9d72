internal import JSON
internal import Telemetry

/// A list in an answer of the insight stage, as a table for people or as lines for programs.
struct AnswerTable {
    /// A column: its header, and the path of names from an entry to the value. With the path `report`, `accepted` it is
    /// the field `accepted` of the object `report`.
    struct Column {
        let header: String
        let path: [StaticString]
        var isTime = false

        init(_ header: String, _ path: StaticString..., isTime: Bool = false) {
            (self.header, self.path, self.isTime) = (header, path, isTime)
        }
    }

    private static let entriesMax = 10_000

    let columns: [Column]
    /// The names that the list may have in an answer. The first that is present counts. An older version of the stage
    /// uses the second name.
    let lists: [StaticString]

    /// Returns the text for people, or one line for each entry for programs.
    func text(of answer: [UInt8], isJSON: Bool) throws -> String {
        try JSONReader(limits: JSONLimits(bytesMax: 32 << 20, keysMax: 1_000_000)).read(answer) { root in
            let object = root.object()
            var (rows, lines): ([[String]], [String]) = ([], [])
            if let list = lists.lazy.compactMap({ object[$0].optional }).first {
                var entries = list.array(countMax: Self.entriesMax)
                while let entry = entries.next() {
                    if isJSON {
                        lines.append(String(decoding: entry.rawJSON().bytes, as: UTF8.self))
                    } else {
                        rows.append(columns.map { Self.cell($0, of: entry) })
                    }
                }
            }
            let next = object["next"].optional?.string()
            if isJSON {
                // The last line is the cursor, so that a program can go on.
                if let next { lines.append(JSONLine.text { $0.field("next", next) }) }
                return lines.joined(separator: "\n")
            }
            if rows.isEmpty { return "nothing" + (next.map { "; go on with --cursor \($0)" } ?? "") }
            let table = Table(headers: columns.map(\.header), rows: rows).text
            return table + (next.map { "\nmore: --cursor \($0)" } ?? "")
        }
    }

    private static func cell(_ column: Column, of entry: JSONValue) -> String {
        var value: JSONValue? = entry
        for name in column.path {
            guard let object = value, object.kind == .object else { return "–" }
            value = object.object()[name].optional
        }
        guard let value else { return "–" }
        if column.isTime { return WallTime(milliseconds: value.timeMilliseconds()).rfc3339 }
        return value.isString ? value.string() : String(decoding: value.rawJSON().bytes, as: UTF8.self)
    }
}
