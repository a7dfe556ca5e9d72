extension RequestHead {
    /// A request without its body, the decoded segments of its path, and the length of its body.
    struct DecodedHead {
        let request: HTTPRequest
        let segments: [String]
        let framing: HTTPFraming
    }

    /// Checks the head and decodes it.
    func decode(peer: String, limits: HTTPLimits) throws(HTTPRefusal) -> DecodedHead {
        guard isStrict else {
            throw .malformed(
                "the request head is not strict HTTP/1.1: use CR LF after each line and single spaces in the request line"
            )
        }
        guard byteCount <= limits.headBytesMax else {
            throw Self.tooLarge(message: "the headers may have \(limits.headBytesMax) bytes")
        }
        guard lines.count <= limits.headersMax else {
            throw Self.tooLarge(message: "there may be \(limits.headersMax) header lines")
        }
        guard target.count <= limits.targetBytesMax else {
            let message = "the path and query may have \(limits.targetBytesMax) bytes"
            throw HTTPRefusal(status: 414, code: "target_too_long", message: message)
        }
        let headers = try decodeHeaders()
        let framing = try unsafe HTTPFraming(
            headers: headers, version: String(decoding: version, as: UTF8.self))
        guard let method = unsafe HTTPMethod(rawValue: String(decoding: self.method, as: UTF8.self)) else {
            throw HTTPRefusal(
                status: 501, code: "method_not_known",
                message: "use one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
        }
        let target = try HTTPTarget(parsing: target)
        let request = HTTPRequest(
            method: method, path: target.path, query: target.query.map { ($0.name, $0.value) },
            headers: headers, peer: peer, id: RequestID.id(in: headers))
        return DecodedHead(request: request, segments: target.segments, framing: framing)
    }

    private func decodeHeaders() throws(HTTPRefusal) -> HTTPHeaders {
        var headers = HTTPHeaders()
        for line in lines {
            guard unsafe !line.name.isEmpty, unsafe line.name.allSatisfy(Self.isNameByte) else {
                throw .malformed("a header name has an invalid character")
            }
            let value = unsafe Self.trimmed(line.value)
            // Tabs are the only control characters that are allowed.
            let isText = unsafe value.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == UInt8(ascii: "\t") }
            guard isText, let text = unsafe String(validating: value, as: UTF8.self) else {
                throw .malformed("a header value has bytes that are not text")
            }
            let name = unsafe String(decoding: line.name, as: UTF8.self)
            if unsafe value.count < line.value.count, HTTPFraming.isFramingHeader(named: name) {
                throw .malformed("\(name) must not end in a space")
            }
            headers.add(name, value: text)
        }
        return headers
    }

    /// Returns the value without spaces and tabs at its end.
    private static func trimmed(_ value: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
        var end = value.endIndex
        while end > value.startIndex,
            unsafe value[end - 1] == UInt8(ascii: " ") || value[end - 1] == UInt8(ascii: "\t")
        { end -= 1 }
        return unsafe value[..<end]
    }

    private static func tooLarge(message: String) -> HTTPRefusal {
        HTTPRefusal(status: 431, code: "headers_too_large", message: message)
    }

    /// Whether the byte may stand in a header's name (RFC 9110, 5.6.2, `token`).
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
