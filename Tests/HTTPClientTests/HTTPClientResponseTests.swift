import Testing

@testable import HTTPClient

/// The parser of HTTP/1.1 answers. It gives the same result for pieces of any size.
@Test func `an answer can be read in any pieces`() {
    /// Parses a text in pieces of some bytes.
    func parse(_ text: String, inPiecesOf size: Int) -> HTTPResponseParser.ParseResult {
        var parser = HTTPResponseParser()
        var result = HTTPResponseParser.ParseResult.needsMore
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) where result == .needsMore {
            result = bytes[start..<min(bytes.count, start + size)].withUnsafeBytes { parser.parse($0) }
        }
        return result
    }
    func response(status: Int, body: String?, keepsAlive: Bool) -> HTTPResponseParser.ParseResult {
        .complete(
            HTTPClientResponse(status: status, body: body.map { Array($0.utf8) }), keepsAlive: keepsAlive)
    }
    for size in [1, 2, 7, 1_000] {
        #expect(
            parse(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length:3\r\n\r\nabc",
                inPiecesOf: size)
                == response(status: 202, body: "abc", keepsAlive: true))
        for head in [
            "204 None\r\n", "204 None\r\nContent-Length: 3\r\n", "304 None\r\nContent-Length: 3\r\n",
        ] {
            #expect(
                parse("HTTP/1.1 \(head)\r\n", inPiecesOf: size)
                    == response(status: Int(head.prefix(3)) ?? 0, body: "", keepsAlive: true))
        }
        // A value may be empty, and may have spaces and tabs around it.
        #expect(
            parse(
                "HTTP/1.1 200 A\r\nX-Empty:\r\nConnection:\tclose \r\nContent-Length: 2 \t\r\n\r\nab",
                inPiecesOf: size)
                == response(status: 200, body: "ab", keepsAlive: false))
        #expect(parse("HTTP/1.1 202 A\r\nContent-Length: 3\r\n\r\nab", inPiecesOf: size) == .needsMore)
        #expect(
            parse("HTTP/1.1 200 A\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab", inPiecesOf: size)
                == response(status: 200, body: "ab", keepsAlive: false))
        #expect(
            parse("HTTP/1.1 500 A\r\nTransfer-Encoding: chunked\r\n\r\n", inPiecesOf: size)
                == response(status: 500, body: nil, keepsAlive: false))
        #expect(parse("SSH-2.0-x\r\n\r\n", inPiecesOf: size) == .malformed)
        #expect(parse("HTTP/1.1 202 A\r\nContent-Length: -3\r\n\r\n", inPiecesOf: size) == .malformed)
        #expect(parse("HTTP/1.1 202 A\r\nContent-Length: 99999999\r\n\r\n", inPiecesOf: size) == .malformed)
        #expect(parse("HTTP/1.1 202 A\r\nContent-Length: 1\r\n\r\nab", inPiecesOf: 1_000) == .malformed)
    }
    let busy = "HTTP/1.1 503 A\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"
    #expect(
        parse(busy, inPiecesOf: 3)
            == .complete(
                HTTPClientResponse(status: 503, body: [], retryAfterSeconds: 7), keepsAlive: true))
    #expect(parse(String(repeating: "x", count: 20_000), inPiecesOf: 100) == .malformed)
}

@Test func `processes of a stage may answer each other at length`() {
    func parse(with limit: Int) -> HTTPResponseParser.ParseResult {
        var parser = HTTPResponseParser(bodyBytesMax: limit)
        return Array("HTTP/1.1 200 A\r\nContent-Length: 20000000\r\n\r\n".utf8).withUnsafeBytes {
            parser.parse($0)
        }
    }
    #expect(parse(with: HTTPResponseParser.bodyBytesDefault) == .malformed)
    #expect(parse(with: HTTPResponseParser.memberBodyBytesMax) == .needsMore)
}

@Test func `a long body is not read if only the status matters`() {
    var parser = HTTPResponseParser(bodyBytesMax: 3, longBody: .ignored)
    let long = Array("HTTP/1.1 200 A\r\nContent-Length: 99999999\r\n\r\nab".utf8)
    let result = long.withUnsafeBytes { parser.parse($0) }
    #expect(result == .complete(HTTPClientResponse(status: 200, body: nil), keepsAlive: false))
    parser = HTTPResponseParser(bodyBytesMax: 3, longBody: .ignored)
    let short = Array("HTTP/1.1 200 A\r\nContent-Length: 2\r\n\r\nab".utf8)
    let shortResult = short.withUnsafeBytes { parser.parse($0) }
    #expect(
        shortResult == .complete(HTTPClientResponse(status: 200, body: Array("ab".utf8)), keepsAlive: true))
}
