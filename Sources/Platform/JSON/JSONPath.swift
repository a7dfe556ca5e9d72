/// A readable position in a document. See `JSONProblem.path`.
struct JSONPath {
    /// The longest part of a name in a path. Names come from outside and can be as long as the document.
    static let nameCharactersMax = 64
    static let charactersMax = 256

    private(set) var text = ""

    mutating func append(name: String) {
        let short =
            name.count > Self.nameCharactersMax ? name.prefix(Self.nameCharactersMax) + "…" : name[...]
        if Self.isPlain(short) {
            add(text.isEmpty ? String(short) : ".\(short)")
        } else {
            add("[\(Self.quoted(short))]")
        }
    }

    mutating func append(index: Int) { add("[\(index)]") }

    private mutating func add(_ part: String) {
        guard text.count < Self.charactersMax else { return }
        text += text.count + part.count <= Self.charactersMax ? part : "…"
    }

    private static func isPlain(_ name: Substring) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy {
                (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) || $0 == 0x5F || $0 == 0x2D
            }
    }

    private static func quoted(_ name: Substring) -> String {
        var out = "\""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"", "\\": out += "\\\(scalar)"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: out += "\\u{\(scalar.value)}"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }
}
