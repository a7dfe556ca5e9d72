import Foundation
import HTTPServer
import Kafka
import ProcessTesting
import Sends
import Testing

@testable import Gateway

/// Malformed and ambiguous requests as bytes on a connection to a real gateway. Each has its status, and none
/// of them sends anything. A valid send follows each ambiguous one on the same connection and must never be read.
struct RawRequestTests {
    /// A request that is sent as bytes, and the statuses of its answers.
    struct Case: CustomTestStringConvertible, Sendable {
        let name: String
        let bytes: @Sendable (Request) -> [UInt8]
        /// The statuses of the answers. Empty if the connection closes without an answer.
        let statuses: [Int]
        var testDescription: String { name }
    }

    /// A route that sends, with a key for it.
    struct Request: Sendable {
        let path: String
        let key: String
        let body: String

        var isNetmera: Bool { path.hasPrefix("/rest/") }

        /// The lines of a valid head, without its length and its end.
        var head: String {
            let access = isNetmera ? "X-Netmera-Api-Key: \(key)" : "Authorization: Bearer \(key)"
            return
                "POST \(path) HTTP/1.1\r\nHost: flotilla\r\n\(access)\r\nContent-Type: application/json\r\n"
        }

        /// Returns the request with further lines in its head.
        func with(_ lines: String..., body: String? = nil) -> [UInt8] {
            with(lines, body: Array((body ?? self.body).utf8))
        }

        func with(_ lines: [String], body: [UInt8]) -> [UInt8] {
            Array((head + lines.map { $0 + "\r\n" }.joined() + "\r\n").utf8) + body
        }

        /// Returns the request with this body and its real length.
        func with(body: String) -> [UInt8] { with(body: Array(body.utf8)) }
        func with(body: [UInt8]) -> [UInt8] {
            with(["Content-Length: \(body.count)", "Connection: close"], body: body)
        }

        /// The body in one chunk, and the end of chunks.
        var chunked: String { "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n" }
        var length: String { "Content-Length: \(body.utf8.count)" }
    }

    private static func row(
        _ name: String, _ statuses: Int..., bytes: @escaping @Sendable (Request) -> [UInt8]
    ) -> Case {
        Case(name: name, bytes: bytes, statuses: statuses)
    }

    /// Requests that two parsers could read differently.
    static let ambiguous: [Case] = [
        row("length and chunks", 400) { $0.with($0.length, "Transfer-Encoding: chunked", body: $0.chunked) },
        row("chunks and length", 400) { $0.with("Transfer-Encoding: chunked", $0.length, body: $0.chunked) },
        row("length 0 and chunks", 400) {
            $0.with("Content-Length: 0", "Transfer-Encoding: chunked", body: $0.chunked)
        },
        row("two lengths that differ", 400) { $0.with($0.length, "Content-Length: 0") },
        row("two lengths that agree", 400) { $0.with($0.length, $0.length) },
        row("a list of lengths", 400) { $0.with($0.length + ", \($0.body.utf8.count)") },
        row("a negative length", 400) { $0.with("Content-Length: -5") },
        row("a length with a sign", 400) { $0.with("Content-Length: +\($0.body.utf8.count)") },
        row("a hexadecimal length", 400) { $0.with("Content-Length: 0x5") },
        row("a length beyond 64 bits", 413) { $0.with("Content-Length: 18446744073709551621") },
        row("a space before the colon", 400) { $0.with("Content-Length : \($0.body.utf8.count)") },
        row("a folded length", 400) { $0.with("Content-Length:\r\n \($0.body.utf8.count)") },
        row("a folded header", 400) { $0.with("X: a\r\n b", $0.length) },
        row("other encodings", 400) { $0.with("Transfer-Encoding: xchunked", body: $0.chunked) },
        row("an encoding before chunks", 400) {
            $0.with("Transfer-Encoding: gzip, chunked", body: $0.chunked)
        },
        row("chunks twice", 400) {
            $0.with("Transfer-Encoding: chunked", "Transfer-Encoding: chunked", body: $0.chunked)
        },
        row("a chunk with an invalid length", 400) {
            $0.with("Transfer-Encoding: chunked", body: "zz\r\n" + $0.body + "\r\n0\r\n\r\n")
        },
        row("a bare line feed between headers", 400) { $0.with("X: a\nY: b", $0.length) },
        row("a bare carriage return in a value", 400) { $0.with("X: a\rContent-Length: 5") },
        row("a NUL in a value", 400) { $0.with("X: a\u{0}b", $0.length) },
        row("a header without a colon", 400) { $0.with("X", $0.length) },
        row("two hosts", 400) { $0.with("Host: other", $0.length) },
        row("another version", 505) { request in
            Array(
                String(decoding: request.with(request.length), as: UTF8.self)
                    .replacingOccurrences(of: " HTTP/1.1", with: " HTTP/3.7").utf8)
        },
        row("a space in the path") { request in
            Array(
                String(decoding: request.with(request.length), as: UTF8.self)
                    .replacingOccurrences(of: "POST ", with: "POST /x ").utf8)
        },
    ]

    /// Requests with one meaning that are refused.
    static let refused: [Case] = [
        row("a body that is much larger than allowed", 413) { $0.with("Content-Length: 10000000") },
        row("a chunked body that is larger than allowed", 413) { request in
            let chunk = String(repeating: " ", count: 1 << 19)
            let chunks = String(repeating: "80000\r\n\(chunk)\r\n", count: 6)
            return request.with("Transfer-Encoding: chunked", body: chunks + "0\r\n\r\n")
        },
        row("two keys", 401) {
            $0.with(
                $0.isNetmera ? "X-Netmera-Api-Key: x" : "Authorization: Bearer x", $0.length,
                "Connection: close")
        },
        row("a compressed body", 415) { $0.with("Content-Encoding: gzip", $0.length, "Connection: close") },
        row("a head that is too long", 431) {
            $0.with("X: " + String(repeating: "x", count: 20_000), $0.length)
        },
        row("too many headers", 431) { request in
            request.with((0..<100).map { "X\($0): x" } + [request.length], body: Array(request.body.utf8))
        },
        row("nothing", 400) { $0.with(body: "") },
        row("no object", 422) { $0.with(body: "[1]") },
        row("half of a body", 400) { $0.with(body: String($0.body.dropLast(3))) },
        row("two bodies", 400) { $0.with(body: $0.body + $0.body) },
        row("100,000 nested arrays", 400) { $0.with(body: String(repeating: "[", count: 100_000)) },
        row("100,000 nested objects", 400) {
            $0.with(body: String(repeating: #"{"a":"#, count: 100_000))
        },
        row("a duplicate name", 400) { $0.with(body: #"{"x":1,"x":1}"#) },
        row("a duplicate name, once with escapes", 400) {
            $0.with(body: #"{"event":"update","\u0065vent":"end"}"#)
        },
        row("a duplicate name in a nested object", 400) {
            $0.with(body: #"{"contentState":{"a":{"b":1,"b":2}}}"#)
        },
        row("5,000 names", 400) { request in
            request.with(body: "{" + (0..<5000).map { #""n\#($0)":1"# }.joined(separator: ",") + "}")
        },
        row("UTF-16", 400) { request in
            var bytes: [UInt8] = [0xFF, 0xFE]
            for unit in request.body.utf16 { bytes += [UInt8(unit & 0xFF), UInt8(unit >> 8)] }
            return request.with(body: bytes)
        },
        row("bytes that are not UTF-8", 400) {
            $0.with(body: Array(#"{"groupId":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8))
        },
        row("half of a surrogate pair", 400) { $0.with(body: #"{"groupId":"\uD800"}"#) },
        row("a control character in a text", 400) { $0.with(body: "{\"groupId\":\"\u{1}\"}") },
        row("NaN as a number", 400) { $0.with(body: #"{"relevanceScore":NaN}"#) },
        row("a number that is too large", 400) { $0.with(body: #"{"relevanceScore":1e400}"#) },
        row("a number of two megabytes", 400) {
            $0.with(body: #"{"relevanceScore":"# + String(repeating: "1", count: 2_000_000) + "}")
        },
        row("a comment", 400) { $0.with(body: "// x\n" + $0.body) },
    ]

    /// Requests whose head or body comes too slowly.
    static let slow: [Case] = [
        row("half of a head", 408) { Array($0.head.utf8.dropLast(10)) },
        row("a head without its end", 408) { Array($0.head.utf8) },
        row("no body", 408) { $0.with($0.length, body: "") },
        row("half of a body", 408) { $0.with($0.length, body: String($0.body.prefix(10))) },
        row("a body that is slightly larger than allowed and does not arrive", 408) {
            $0.with("Content-Length: \(GatewayLimits.sendBytesMax + 1)")
        },
        row("half of a chunk", 408) { $0.with("Transfer-Encoding: chunked", body: "ff\r\n{") },
    ]

    /// Starts a gateway that waits only 300 ms for slow clients. Returns it with a request for each route that sends.
    private static func bench() async throws -> (GatewayBench, [Request]) {
        let bench = try await GatewayBench.forSends {
            $0.http.headMilliseconds = 300
            $0.http.bodyGraceMilliseconds = 300
        }
        let own = Request(
            path: "/v1/sends", key: try #require(bench.keys["shop/send"]),
            body: SendsServiceTests.update(ofGroup: "own"))
        let bulk = Request(
            path: "/rest/3.0/sendBulkNotification", key: own.key, body: NetmeraExamplesTests.bulk)
        let update = Request(
            path: "/rest/3.0/update-live-activity", key: own.key, body: #"{"groupId":"own"}"#)
        return (bench, [own, bulk, update])
    }

    /// Returns a valid send, to be used on its own connection or after another request.
    private static func validSend(to group: String, key: String) -> [UInt8] {
        let body = SendsServiceTests.update(ofGroup: group)
        let head =
            "POST /v1/sends HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(key)\r\nConnection: close\r\n"
        return Array((head + "Content-Length: \(body.utf8.count)\r\n\r\n" + body).utf8)
    }

    /// Plays the cases on every route that sends, with `behind` after each. Checks that only the valid sends
    /// on other connections were stored.
    private static func play(_ cases: [Case], behind: (@Sendable (Request) -> [UInt8])? = nil) async throws {
        let (bench, requests) = try await Self.bench()
        let port = bench.port
        var validSendCount = 0
        for request in requests {
            for row in cases {
                let bytes = row.bytes(request) + (behind?(request) ?? [])
                async let statuses = onThread { try HTTPPeer(port: port).statuses(to: bytes) }
                let otherStatuses = try await onThread {
                    try HTTPPeer(port: port).statuses(to: Self.validSend(to: "valid", key: request.key))
                }
                #expect(otherStatuses == [202], "others are served meanwhile")
                validSendCount += 1
                #expect(try await statuses == row.statuses, "\(row.name) at \(request.path)")
            }
        }
        let groups = try await bench.sends(atLeast: validSendCount).map { $0.scopeKey?.group }
        #expect(groups.count == validSendCount && Set(groups) == ["valid"])
        await bench.stop()
    }

    @Test func `an ambiguous send request is refused, and the request behind it is not read`() async throws {
        try await Self.play(Self.ambiguous) { Self.validSend(to: "hidden", key: $0.key) }
    }

    @Test
    func
        `a send request that is malformed, too deep, duplicated or too large has its status and sends nothing`()
        async throws
    {
        try await Self.play(Self.refused)
    }

    @Test func `a send request that comes too slowly is closed and sends nothing`() async throws {
        try await Self.play(Self.slow)
    }
}
