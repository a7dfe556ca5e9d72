internal import Cryptography
internal import Identifiers
internal import JSON

/// A SHA-256 of a body's content, in hexadecimal. The order of members and white space do not change it, so a
/// client may encode a repeated request differently.
///
/// The hashed form of `{"b": [1], "a": "x"}` is `{1:a"1:x1:b[1,]}`: members sorted by name, and a length before
/// each name and text, so that two different bodies never have the same form.
enum BodyDigest {
    static func text(of body: JSONValue) -> String {
        var bytes: [UInt8] = []
        append(body, to: &bytes)
        return Hex.text(of: SHA256.digest(of: bytes))
    }

    private static func append(_ value: JSONValue, to bytes: inout [UInt8]) {
        switch value.kind {
        case .object:
            var members: [(name: [UInt8], value: JSONValue)] = []
            for (name, member) in value.object().members { members.append((Array(name.utf8), member)) }
            members.sort { $0.name.lexicographicallyPrecedes($1.name) }
            bytes.append(UInt8(ascii: "{"))
            for (name, member) in members {
                bytes += Array("\(name.count):".utf8) + name
                append(member, to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        case .array:
            bytes.append(UInt8(ascii: "["))
            for element in value.array(countMax: .max) {
                append(element, to: &bytes)
                bytes.append(UInt8(ascii: ","))
            }
            bytes.append(UInt8(ascii: "]"))
        case .string:
            let text = unsafe value.utf8
            bytes += Array("\"\(text.count):".utf8)
            unsafe bytes.append(contentsOf: text)
        default: unsafe bytes.append(contentsOf: value.raw)
        }
    }
}
