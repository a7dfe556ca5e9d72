/// The length of a request's body, as the head tells it. If two programs disagree about it, they read
/// different requests from one connection (request smuggling). So every request with an ambiguous length is
/// refused.
struct HTTPFraming: Equatable {
    /// The length of the body. Nil if the body comes in chunks.
    let contentLength: Int?
    /// Whether the connection closes after this request: after chunks, because the library parses them
    /// leniently, and after HTTP/1.0, which has no clear rules for a second request.
    let closesConnection: Bool

    private static let contentLengthDigitsMax = 15

    init(headers: HTTPHeaders, version: String) throws(HTTPRefusal) {
        let isHTTP10 = version == "HTTP/1.0"
        guard isHTTP10 || version == "HTTP/1.1" else {
            throw HTTPRefusal(status: 505, code: "version_not_supported", message: "use HTTP/1.1")
        }
        let hostCount = headers.all(named: "host").count
        guard hostCount == 1 || isHTTP10 && hostCount == 0 else {
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
            closesConnection = isHTTP10
        } else {
            guard encodings.map({ $0.lowercased() }) == ["chunked"], !isHTTP10 else {
                throw .malformed("the only supported Transfer-Encoding is chunked, once, in HTTP/1.1")
            }
            contentLength = nil
            closesConnection = true
        }
        try Self.checkExpectation(in: headers)
    }

    private static func checkExpectation(in headers: HTTPHeaders) throws(HTTPRefusal) {
        guard let expectation = headers["expect"], expectation.lowercased() != "100-continue" else { return }
        throw HTTPRefusal(
            status: 417, code: "expectation_failed", message: "the only supported expectation is 100-continue"
        )
    }

    /// Whether the header determines the length of the body.
    static func isFramingHeader(named name: String) -> Bool {
        ["content-length", "transfer-encoding"].contains(name.lowercased())
    }

    private static func length(from text: String) throws(HTTPRefusal) -> Int {
        let hasOnlyDigits = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard hasOnlyDigits, text.utf8.count <= contentLengthDigitsMax, let length = Int(text) else {
            throw .malformed("Content-Length must be a decimal number")
        }
        return length
    }
}
