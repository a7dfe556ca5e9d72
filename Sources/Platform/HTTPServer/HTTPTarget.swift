/// The path and query of a request line, decoded strictly. Ambiguous targets are refused, so that a rule of a
/// proxy and this server always mean the same path.
struct HTTPTarget: Equatable {
    let path: String
    /// The decoded segments. A segment contains a slash if it was sent as `%2F`.
    let segments: [String]
    let query: [Field]

    struct Field: Equatable {
        let name: String
        let value: String
    }

    init(parsing raw: [UInt8]) throws(HTTPRefusal) {
        guard raw.first == UInt8(ascii: "/") else {
            throw .malformed("the request target must begin with /")
        }
        guard raw.allSatisfy(Self.isAllowed) else {
            throw .malformed("the path has a character that must be percent-encoded")
        }
        let parts = raw.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        path = String(decoding: parts[0], as: UTF8.self)
        var segments: [String] = []
        for part in parts[0].dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        {
            let segment = try Self.decode(part, plusIsSpace: false)
            if segment == "." || segment == ".." {
                throw .malformed("the path must not have . or .. segments")
            }
            segments.append(segment)
        }
        self.segments = segments
        query = parts.count == 2 ? try Self.fields(in: parts[1]) : []
    }

    private static func fields(in raw: ArraySlice<UInt8>) throws(HTTPRefusal) -> [Field] {
        var fields: [Field] = []
        for part in raw.split(separator: UInt8(ascii: "&")) {
            let sides = part.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let value = sides.count == 2 ? try decode(sides[1], plusIsSpace: true) : ""
            fields.append(Field(name: try decode(sides[0], plusIsSpace: true), value: value))
        }
        return fields
    }

    private static func decode(_ raw: ArraySlice<UInt8>, plusIsSpace: Bool) throws(HTTPRefusal) -> String {
        var out: [UInt8] = []
        out.reserveCapacity(raw.count)
        var at = raw.startIndex
        while at < raw.endIndex {
            switch raw[at] {
            case UInt8(ascii: "%"):
                guard raw.endIndex - at > 2, let high = hexDigit(from: raw[at + 1]),
                    let low = hexDigit(from: raw[at + 2])
                else {
                    throw .malformed("the path has % without two hexadecimal digits")
                }
                out.append(high << 4 | low)
                at += 3
            case UInt8(ascii: "+") where plusIsSpace:
                out.append(UInt8(ascii: " "))
                at += 1
            default:
                out.append(raw[at])
                at += 1
            }
        }
        guard let text = String(validating: out, as: UTF8.self), out.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { throw .malformed("the path has percent-encoded bytes that are not UTF-8 text") }
        return text
    }

    private static func hexDigit(from byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Whether RFC 3986 allows the byte in a path or query. `%` is allowed, too.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "$")...UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: ";"),
            UInt8(ascii: "="), UInt8(ascii: "?"), UInt8(ascii: "@"), UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
