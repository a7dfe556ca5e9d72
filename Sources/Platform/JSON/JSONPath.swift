/// A text for a position in a document, such as `target.extIds[3]` or `tags["a b"]`. It is built from the
/// root down.
struct JSONPath {
    // Names come from outside and can be as long as the document. The rest of a name or a path becomes an
    // ellipsis.
    static let nameCharactersMax = 64
    static let charactersMax = 256

    private(set) var text = ""
    /// Whether the ellipsis of a long path ends the text.
    private var isShortened = false

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
        guard !isShortened else { return }
        isShortened = text.count + part.count > Self.charactersMax
        text += isShortened ? "…" : part
    }

    /// Whether the name has only letters, digits, underscores and hyphens.
    private static func isPlain(_ name: Substring) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    private static func quoted(_ name: Substring) -> String {
        var text = "\""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}
