import Foundation
import HTTPServer
import LiveActivity
import Testing

@testable import Gateway

/// A send that hides behind a request which two readers could understand differently is never carried out.
struct HiddenSendTests {
    @Test func `of what can be read in two ways nothing is stored, and the connection ends`() async throws {
        let (bench, _cluster) = try await GatewayBench.forSends()
        let key = try #require(bench.keys["shop/send"])
        let head = "POST /v1/sends HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(key)\r\n"
        let body = SendsServiceTests.update("hidden")
        let hidden = head + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n" + body
        let table = [
            "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
            "Content-Length: 0\r\nContent-Length: \(hidden.utf8.count)\r\n\r\n",
            "Content-Length: +0\r\n\r\n", "Content-Length : 0\r\n\r\n", "Content-Length:\r\n 0\r\n\r\n",
            "Transfer-Encoding: xchunked\r\n\r\n", "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n", "X: a\nContent-Length: 0\r\n\r\n",
        ]
        let port = bench.port
        for line in table {
            let statuses = try await onThread {
                try HTTPPeer(port: port).statuses(to: Array((head + line + hidden).utf8))
            }
            #expect(statuses.allSatisfy { (400..<500).contains($0) }, "\(statuses) to \(line)")
        }
        let control = try await onThread { try HTTPPeer(port: port).statuses(to: Array(hidden.utf8)) }
        #expect(control == [202])
        #expect(try await bench.sends(1).count == 1)
        await bench.stop()
        _ = _cluster
    }

    @Test func `a body that comes too slowly, or never ends, is cut, and others are served meanwhile`()
        async throws
    {
        let (bench, _cluster) = try await GatewayBench.forSends {
            $0.http.bodyGraceMilliseconds = 300
            $0.http.headMilliseconds = 300
        }
        let (port, key) = (bench.port, try #require(bench.keys["shop/send"]))
        let head = "POST /v1/sends HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(key)\r\n"
        let slow = [
            "GET /liv", head, head + "Content-Length: 500\r\n\r\n{",
            head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
        ]
        for bytes in slow {
            async let cut = onThread { try HTTPPeer(port: port).statuses(to: Array(bytes.utf8)) }
            #expect(try await bench.call("POST", "/v1/sends", SendsServiceTests.update()).status == 202)
            #expect(try await cut.allSatisfy { $0 == 408 }, "\(bytes)")
        }
        await bench.stop()
        _ = _cluster
    }
}
