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
        var hashedForm: [UInt8] = []
        append(body, to: &hashedForm)
        return Hex.text(of: SHA256.digest(of: hashedForm))
    }

    private static func append(_ value: JSONValue, to hashedForm: inout [UInt8]) {
        switch value.kind {
        case .object: append(object: value.object(), to: &hashedForm)
        case .array:
            hashedForm.append(UInt8(ascii: "["))
            for element in value.array(countMax: .max) {
                append(element, to: &hashedForm)
                hashedForm.append(UInt8(ascii: ","))
            }
            hashedForm.append(UInt8(ascii: "]"))
        case .string:
            let text = unsafe value.utf8()
            hashedForm += Array("\"\(text.count):".utf8)
            unsafe hashedForm.append(contentsOf: text)
        // Numbers, Booleans and null, as the client wrote them.
        default: unsafe hashedForm.append(contentsOf: value.raw)
        }
    }

    private static func append(object: JSONObject, to hashedForm: inout [UInt8]) {
        var members: [(name: [UInt8], value: JSONValue)] = []
        for (name, member) in object.members { members.append((Array(name.utf8), member)) }
        members.sort { $0.name.lexicographicallyPrecedes($1.name) }
        hashedForm.append(UInt8(ascii: "{"))
        for (name, member) in members {
            hashedForm += Array("\(name.count):".utf8) + name
            append(member, to: &hashedForm)
        }
        hashedForm.append(UInt8(ascii: "}"))
    }
}
