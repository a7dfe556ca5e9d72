import Testing

@testable import HTTPClient

@Test func `an answer can be read in any pieces`() {
    func read(_ text: String, by size: Int) -> HTTPResponseParser.ParseResult {
        var reader = HTTPResponseParser()
        var step = HTTPResponseParser.ParseResult.needsMore
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) where step == .needsMore {
            step = bytes[start..<min(bytes.count, start + size)].withUnsafeBytes { reader.parse($0) }
        }
        return step
    }
    func whole(_ status: Int, _ body: String?, isKept: Bool) -> HTTPResponseParser.ParseResult {
        .complete(HTTPClientResponse(status: status, body: body.map { Array($0.utf8) }), keepsAlive: isKept)
    }
    for size in [1, 2, 7, 1_000] {
        #expect(
            read(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length:3\r\n\r\nabc", by: size)
                == whole(202, "abc", isKept: true))
        #expect(read("HTTP/1.1 204 None\r\n\r\n", by: size) == whole(204, "", isKept: true))
        #expect(read("HTTP/1.1 202 A\r\nContent-Length: 3\r\n\r\nab", by: size) == .needsMore)
        #expect(
            read("HTTP/1.1 200 A\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab", by: size)
                == whole(200, "ab", isKept: false))
        #expect(
            read("HTTP/1.1 500 A\r\nTransfer-Encoding: chunked\r\n\r\n", by: size)
                == whole(500, nil, isKept: false))
        #expect(read("SSH-2.0-x\r\n\r\n", by: size) == .malformed)
        #expect(read("HTTP/1.1 202 A\r\nContent-Length: -3\r\n\r\n", by: size) == .malformed)
        #expect(read("HTTP/1.1 202 A\r\nContent-Length: 99999999\r\n\r\n", by: size) == .malformed)
        #expect(read("HTTP/1.1 202 A\r\nContent-Length: 1\r\n\r\nab", by: 1_000) == .malformed)
    }
    #expect(read(String(repeating: "x", count: 20_000), by: 100) == .malformed)
}
