/// The id of a request, which stands in its answer, in logs and in records. So people find the same request in all of
/// them. A client may choose the id with the header `X-Request-Id`.
enum RequestID {
    static let headerName = "X-Request-Id"
    /// A longer id of a client is replaced.
    static let bytesMax = 128

    /// Returns the client's id if the request has one valid id, and a random id otherwise. An invalid id is no reason to
    /// refuse a request, because a proxy may have added it.
    static func id(in headers: HTTPHeaders) -> String {
        let ids = headers.all(named: headerName)
        guard let id = ids.first, ids.count == 1, isValid(id) else { return random() }
        return id
    }

    /// Returns a random id: 32 hexadecimal digits.
    static func random() -> String {
        let digits =
            String(UInt64.random(in: 0 ... .max), radix: 16)
            + String(UInt64.random(in: 0 ... .max), radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }

    /// Whether the id is short and has only characters that need no quotes in a log, in a header and in a URL.
    private static func isValid(_ id: String) -> Bool {
        (1...bytesMax).contains(id.utf8.count)
            && id.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                    UInt8(ascii: "."), UInt8(ascii: "~"), UInt8(ascii: ":"), UInt8(ascii: "+"),
                    UInt8(ascii: "/"), UInt8(ascii: "="):
                    true
                default: false
                }
            }
    }
}
