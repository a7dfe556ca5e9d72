internal import CNghttp2

/// A header field that this side sends. An indexed field enters the peer's HPACK table when it is first sent,
/// and takes one byte in later requests. Secrets and values that always differ are not indexed.
package struct HeaderField: Sendable {
    let name: String
    let value: String
    let isIndexed: Bool

    /// Creates a field. `authorization` is never indexed, because Apple asks for this to keep its tables
    /// small.
    package init(name: String, value: String, isIndexed: Bool = true) {
        self.name = name
        self.value = value
        self.isIndexed = isIndexed && name != "authorization"
    }

    /// Checks the name, which must not be a pseudo field such as `:path`, and the value.
    func check() throws(HeaderFieldError) {
        var name = name
        let isName = name.withUTF8 { unsafe nghttp2_check_header_name($0.baseAddress, $0.count) != 0 }
        guard isName, !name.utf8.contains(UInt8(ascii: ":")) else { throw .invalidName(name) }
        try checkValue()
    }

    /// Checks the value. Its length must fit the 16 bits in `HeaderFields`.
    func checkValue() throws(HeaderFieldError) {
        var value = value
        let isValue = value.withUTF8 {
            unsafe nghttp2_check_header_value_rfc9113($0.baseAddress, $0.count) != 0
        }
        guard isValue, value.utf8.count <= Int(UInt16.max) else { throw .invalidValue(ofField: name) }
    }
}

/// A header field that HTTP/2 forbids. The value is not quoted, because it may be a secret.
package enum HeaderFieldError: Error, Hashable, Sendable, CustomStringConvertible {
    case invalidName(String)
    case invalidValue(ofField: String)
    case tooLarge(bytes: Int, limit: Int)

    package var description: String {
        switch self {
        case .invalidName(let name):
            "header name \"\(name)\" is not valid in HTTP/2; use lower-case letters, digits and dashes"
        case .invalidValue(let field):
            "the value of header \"\(field)\" is not valid; remove line breaks and leading or trailing blanks"
        case .tooLarge(let bytes, let limit):
            "the headers of a request take \(bytes) bytes, more than \(limit); shorten or remove some headers"
        }
    }
}
