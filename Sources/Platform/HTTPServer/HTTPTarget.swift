/// The path and query of a request line, such as `/v1/users/a%20b?limit=5`, decoded strictly. Ambiguous
/// targets are refused, so that a proxy in front of this server reads the same path.
struct HTTPTarget: Equatable {
    /// The path as sent.
    let path: String
    /// The decoded segments of the path. A segment contains a slash if it was sent as `%2F`.
    let segments: [String]
    /// The decoded fields, in order.
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
            let nameAndValue = part.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let value = nameAndValue.count == 2 ? try decode(nameAndValue[1], plusIsSpace: true) : ""
            fields.append(Field(name: try decode(nameAndValue[0], plusIsSpace: true), value: value))
        }
        return fields
    }

    /// Decodes `%20` and, in a query, `+`.
    private static func decode(_ raw: ArraySlice<UInt8>, plusIsSpace: Bool) throws(HTTPRefusal) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(raw.count)
        var index = raw.startIndex
        while index < raw.endIndex {
            switch raw[index] {
            case UInt8(ascii: "%"):
                guard raw.endIndex - index > 2, let high = hexDigit(from: raw[index + 1]),
                    let low = hexDigit(from: raw[index + 2])
                else {
                    throw .malformed("the path has % without two hexadecimal digits")
                }
                bytes.append(high << 4 | low)
                index += 3
            case UInt8(ascii: "+") where plusIsSpace:
                bytes.append(UInt8(ascii: " "))
                index += 1
            default:
                bytes.append(raw[index])
                index += 1
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self),
            bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
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
