import Testing

@testable import HTTPClient

// The parser of HTTP/1.1 answers. It gives the same result for pieces of any size.

private let pieceSizes = [1, 2, 7, 1_000]

/// Parses a text in pieces of some bytes, until it is complete or malformed.
private func parse(_ text: String, inPiecesOf size: Int) -> HTTPResponseParser.ParseResult {
    var parser = HTTPResponseParser()
    var result = HTTPResponseParser.ParseResult.needsMore
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: size) where result == .needsMore {
        result = bytes[start..<min(bytes.count, start + size)].withUnsafeBytes { parser.parse($0) }
    }
    return result
}

private func response(
    status: Int, body: String?, keepsAlive: Bool
) -> HTTPResponseParser.ParseResult {
    .complete(
        HTTPClientResponse(status: status, body: body.map { Array($0.utf8) }), keepsAlive: keepsAlive)
}

@Test(arguments: pieceSizes) func `an informational answer precedes the answer`(size: Int) {
    let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length:3\r\n\r\nabc"
    #expect(parse(text, inPiecesOf: size) == response(status: 202, body: "abc", keepsAlive: true))
}

@Test(
    arguments: [
        "204 None\r\n", "204 None\r\nContent-Length: 3\r\n", "304 None\r\nContent-Length: 3\r\n",
    ], pieceSizes)
func `an answer that cannot have a body ends with its head`(head: String, size: Int) throws {
    let status = try #require(Int(head.prefix(3)))
    #expect(
        parse("HTTP/1.1 \(head)\r\n", inPiecesOf: size)
            == response(status: status, body: "", keepsAlive: true))
}

@Test(arguments: pieceSizes) func `a value may be empty, and have spaces and tabs around it`(size: Int) {
    let text = "HTTP/1.1 200 A\r\nX-Empty:\r\nConnection:\tclose \r\nContent-Length: 2 \t\r\n\r\nab"
    #expect(parse(text, inPiecesOf: size) == response(status: 200, body: "ab", keepsAlive: false))
}

@Test(arguments: pieceSizes) func `an answer without all of its body needs more`(size: Int) {
    #expect(parse("HTTP/1.1 202 A\r\nContent-Length: 3\r\n\r\nab", inPiecesOf: size) == .needsMore)
}

@Test(arguments: pieceSizes) func `a connection that the peer closes is not used again`(size: Int) {
    let text = "HTTP/1.1 200 A\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab"
    #expect(parse(text, inPiecesOf: size) == response(status: 200, body: "ab", keepsAlive: false))
}

@Test(arguments: pieceSizes) func `a chunked body is not read, and the connection is not used again`(
    size: Int
) {
    let text = "HTTP/1.1 500 A\r\nTransfer-Encoding: chunked\r\n\r\n"
    #expect(parse(text, inPiecesOf: size) == response(status: 500, body: nil, keepsAlive: false))
}

@Test(
    arguments: [
        "SSH-2.0-x\r\n\r\n", "HTTP/1.1 202 A\r\nContent-Length: -3\r\n\r\n",
        "HTTP/1.1 202 A\r\nContent-Length: 99999999\r\n\r\n",
    ], pieceSizes)
func `another protocol, and a length that is invalid or too large, are malformed`(
    text: String, size: Int
) {
    #expect(parse(text, inPiecesOf: size) == .malformed)
}

@Test(arguments: [
    ("HTTP/1.1 202 A\r\nContent-Length: 1\r\n\r\nab", HTTPClientResponse(status: 202, body: Array("a".utf8))),
    ("HTTP/1.1 204 A\r\nContent-Length: 2\r\n\r\nok", HTTPClientResponse(status: 204, body: [])),
])
func `an answer counts if bytes follow it, and its connection is not used again`(
    text: String, answer: HTTPClientResponse
) {
    #expect(parse(text, inPiecesOf: 1_000) == .complete(answer, keepsAlive: false))
}

@Test func `the seconds of Retry-After are part of the answer`() {
    let busy = "HTTP/1.1 503 A\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"
    #expect(
        parse(busy, inPiecesOf: 3)
            == .complete(
                HTTPClientResponse(status: 503, body: [], retryAfterSeconds: 7), keepsAlive: true))
}

@Test func `a head without an end is malformed`() {
    #expect(parse(String(repeating: "x", count: 20_000), inPiecesOf: 100) == .malformed)
}

@Test func `an answer of another process of the stage may be longer than other answers`() {
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
