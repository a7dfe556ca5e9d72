import Compression
import Testing

@testable import Gateway
@testable import HTTPServer

/// The answers to clients that poll.
struct PolledAnswerTests {
    private let body = Array(String(repeating: #"{"groupId":"match-42"},"#, count: 200).utf8)

    private func answer(with headers: HTTPHeaders = [:], body: [UInt8]) -> HTTPResponse {
        PolledAnswer.response(
            body,
            to: HTTPRequest(method: .get, path: "/v1/groups", query: [], headers: headers, peer: "127.0.0.1"))
    }

    @Test func `an answer is not sent again until it changes`() throws {
        let first = answer(body: body)
        let tag = try #require(first.headers["etag"])
        #expect(first.status == 200 && first.body == body)
        let repeated = answer(with: ["If-None-Match": tag], body: body)
        #expect(repeated.status == 304 && repeated.body.isEmpty && repeated.headers["etag"] == tag)
        #expect(answer(with: ["If-None-Match": tag], body: body + [32]).status == 200)
    }

    @Test func `an answer is compressed only for clients that read gzip`() throws {
        let compressed = answer(with: ["Accept-Encoding": "gzip"], body: body)
        #expect(compressed.headers["content-encoding"] == "gzip" && compressed.body.count < body.count / 10)
        let plain = unsafe compressed.body.withUnsafeBytes { unsafe Gzip.decompress($0, max: 1 << 20) }
        #expect(plain == body)
        #expect(
            answer(with: ["Accept-Encoding": "gzip"], body: [123, 125]).headers["content-encoding"] == nil)
        #expect(answer(body: body).headers["content-encoding"] == nil)
    }
}
