/// Where a request's body ends. Two programs that disagree about that read different requests from
/// the same connection, so whatever leaves room for it is refused.
struct HTTPFraming: Equatable {
    /// Nil when the body comes in chunks.
    let contentLength: Int?
    /// Nothing more is read from the connection after this request: chunks are split by a lenient
    /// reader, and HTTP/1.0 has no settled rules for a second request.
    let closes: Bool

    private static let contentLengthDigitsMax = 15

    init(_ headers: HTTPHeaders, version: String) throws(HTTPRefusal) {
        let isOld = version == "HTTP/1.0"
        guard isOld || version == "HTTP/1.1" else {
            throw HTTPRefusal(505, "version_not_supported", message: "speak HTTP/1.1")
        }
        let hosts = headers.all("host").count
        guard hosts == 1 || isOld && hosts == 0 else {
            throw .malformed("the request must have exactly one Host header")
        }
        let lengths = headers.all("content-length")
        let encodings = headers.all("transfer-encoding")
        guard lengths.count <= 1 else { throw .malformed("Content-Length must be there only once") }
        guard lengths.isEmpty || encodings.isEmpty else {
            throw .malformed("send either Content-Length or Transfer-Encoding, not both")
        }
        if encodings.isEmpty {
            contentLength = try lengths.first.map { text throws(HTTPRefusal) in try Self.length(text) } ?? 0
            closes = isOld
        } else {
            guard encodings.map({ $0.lowercased() }) == ["chunked"], !isOld else {
                throw .malformed("the only Transfer-Encoding is chunked, once, in HTTP/1.1")
            }
            contentLength = nil
            closes = true
        }
        if let expected = headers["expect"], expected.lowercased() != "100-continue" {
            throw HTTPRefusal(417, "expectation_failed", message: "the only expectation is 100-continue")
        }
    }

    static func isDecided(by name: String) -> Bool {
        ["content-length", "transfer-encoding"].contains(name.lowercased())
    }

    private static func length(_ text: String) throws(HTTPRefusal) -> Int {
        let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isPlain, text.utf8.count <= contentLengthDigitsMax, let length = Int(text) else {
            throw .malformed("Content-Length must be a decimal number")
        }
        return length
    }
}
