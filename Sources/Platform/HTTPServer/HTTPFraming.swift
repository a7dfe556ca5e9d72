/// The end of a request's body. If two programs disagree about it, they read different requests from one
/// connection (request smuggling). Every request with an ambiguous end is therefore refused.
struct HTTPFraming: Equatable {
    /// The length of the body. Nil if the body comes in chunks.
    let contentLength: Int?
    /// Whether the connection closes after this request. The library parses chunks leniently, and HTTP/1.0
    /// has no clear rules for a second request.
    let closesConnection: Bool

    private static let contentLengthDigitsMax = 15

    init(headers: HTTPHeaders, version: String) throws(HTTPRefusal) {
        let isOld = version == "HTTP/1.0"
        guard isOld || version == "HTTP/1.1" else {
            throw HTTPRefusal(status: 505, code: "version_not_supported", message: "use HTTP/1.1")
        }
        let hosts = headers.all(named: "host").count
        guard hosts == 1 || isOld && hosts == 0 else {
            throw .malformed("the request must have exactly one Host header")
        }
        let lengths = headers.all(named: "content-length")
        let encodings = headers.all(named: "transfer-encoding")
        guard lengths.count <= 1 else { throw .malformed("Content-Length must occur only once") }
        guard lengths.isEmpty || encodings.isEmpty else {
            throw .malformed("send either Content-Length or Transfer-Encoding, not both")
        }
        if encodings.isEmpty {
            contentLength =
                try lengths.first.map { text throws(HTTPRefusal) in try Self.length(from: text) } ?? 0
            closesConnection = isOld
        } else {
            guard encodings.map({ $0.lowercased() }) == ["chunked"], !isOld else {
                throw .malformed("the only supported Transfer-Encoding is chunked, once, in HTTP/1.1")
            }
            contentLength = nil
            closesConnection = true
        }
        if let expected = headers["expect"], expected.lowercased() != "100-continue" {
            throw HTTPRefusal(
                status: 417, code: "expectation_failed",
                message: "the only supported expectation is 100-continue")
        }
    }

    static func isFramingHeader(named name: String) -> Bool {
        ["content-length", "transfer-encoding"].contains(name.lowercased())
    }

    private static func length(from text: String) throws(HTTPRefusal) -> Int {
        let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isPlain, text.utf8.count <= contentLengthDigitsMax, let length = Int(text) else {
            throw .malformed("Content-Length must be a decimal number")
        }
        return length
    }
}
