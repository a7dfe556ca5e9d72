import Foundation
import HTTPServer
import ProcessTesting
import Testing

/// The server with curl as an independent client.
struct CurlTests {
    private func curl(_ arguments: String..., input: Data? = nil) async throws -> String {
        let process = try ChildProcess(
            "curl", arguments: ["-sS", "--max-time", "20"] + arguments, input: input)
        let status = try await process.exitStatus()
        #expect(status == 0, "\(process.errors)")
        return process.output
    }

    @Test func `curl gets, posts, uploads in chunks, and asks for the head`() async throws {
        let server = try TestServer()
        let base = "http://127.0.0.1:\(server.port)"
        #expect(try await curl("\(base)/hello") == "hello")
        #expect(try await curl("-d", "a body", "\(base)/echo") == "a body")
        let body = Data(repeating: UInt8(ascii: "x"), count: 900_000)
        let chunked = try await curl(
            "-H", "Transfer-Encoding: chunked", "--data-binary", "@-", "\(base)/echo", input: body)
        #expect(chunked.utf8.count == body.count)
        let head = try await curl("-I", "\(base)/hello")
        #expect(
            head.hasPrefix("HTTP/1.1 200") && head.contains("Content-Length: 5") && !head.hasSuffix("hello"))
        // Behind each answer, curl writes the number of connections that it opened for it.
        #expect(try await curl("-w", "%{num_connects}", "\(base)/hello", "\(base)/hello") == "hello1hello0")
    }

    // The limit is 1 MiB. A body up to twice as long is read and discarded. A longer one is refused from its head.
    @Test(arguments: [1_100_000, 1_900_000, 50_000_000])
    func `curl gets the reason when its body is too large`(_ byteCount: Int) async throws {
        let server = try TestServer()
        let answer = try await curl(
            "-w", " %{http_code}", "--data-binary", "@-", "http://127.0.0.1:\(server.port)/echo",
            input: Data(repeating: UInt8(ascii: "x"), count: byteCount))
        #expect(answer.hasPrefix(#"{"error":{"code":"body_too_large""#) && answer.hasSuffix(" 413"))
    }
}
