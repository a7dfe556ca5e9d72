import Lifecycle
import ProcessTesting
import Testing

@testable import TLS

/// Our client and our server over real sockets.
@Suite struct TLSConnectionTests {
    @Test func `a slow reader makes the sender wait and gets every byte`() async throws {
        let certificates = try Certificates()
        let near = try RunningLoop()
        let far = try RunningLoop()
        let server = try Server(try certificates.server(), on: far.loop) { Endpoint(keepsBytes: false) }
        let client = Endpoint.connect(try certificates.client(), port: server.port, on: near.loop)
        try await eventually("the handshake") { server.first?.read(\.applicationProtocol) != nil }
        let total = 32 * 1024 * 1024
        _ = far.loop.perform { server.first?.tls.pauseReading() }
        _ = near.loop.perform { client.send([UInt8](repeating: 7, count: total)) }
        try await eventually("the kernel's buffers are full") {
            // The connection takes nothing more, although the loop runs 20 times.
            let before = client.read(\.takenByteCount)
            for _ in 0..<20 { _ = near.loop.perform {} }
            return before > 0 && client.read(\.takenByteCount) == before
        }
        #expect(client.read(\.takenByteCount) < total)
        _ = far.loop.perform { server.first?.tls.resumeReading() }
        try await eventually("the last byte", seconds: 20) {
            server.first?.read(\.receivedByteCount) == total
        }
    }

    @Test func `finish sends the remaining data, and both ends see an orderly close`() async throws {
        let certificates = try Certificates()
        let running = try RunningLoop()
        let server = try Server(try certificates.server(), on: running.loop) { Endpoint(keepsBytes: false) }
        let client = Endpoint.connect(
            try certificates.client(), port: server.port, on: running.loop, as: Endpoint(pieceBytesMax: 5_000)
        )
        try await eventually("the handshake") { client.read(\.applicationProtocol) != nil }
        _ = running.loop.perform {
            client.send([UInt8](repeating: 7, count: 3_000_000))
            client.tls.finish()
        }
        try await eventually("both ends") {
            client.read(\.closeReasons).count == 1 && server.first?.read(\.closeReasons).count == 1
        }
        #expect(server.first?.read(\.receivedByteCount) == 3_000_000)
        #expect(server.first?.read(\.closeReasons) == ["connection closed by the peer"])
        #expect(client.read(\.closeReasons) == ["connection closed by this process"])
    }

    @Test func `a peer that hangs up without a close alert has its own reason`() async throws {
        let certificates = try Certificates()
        let running = try RunningLoop()
        let server = try Server(try certificates.server(), on: running.loop)
        let client = Endpoint.connect(try certificates.client(), port: server.port, on: running.loop)
        try await eventually("the handshake") { server.first?.read(\.applicationProtocol) != nil }
        _ = running.loop.perform { client.tls.close() }
        try await eventually("the end") { server.first?.read(\.closeReasons).count == 1 }
        #expect(
            server.first?.read(\.closeReasons) == ["connection closed by the peer without a TLS close alert"])
    }

    @Test func `data that is taken in small pieces comes back complete`() async throws {
        let certificates = try Certificates()
        let running = try RunningLoop()
        let server = try Server(try certificates.server(), on: running.loop) { Endpoint(echoes: true) }
        let client = Endpoint.connect(
            try certificates.client(), port: server.port, on: running.loop, as: Endpoint(pieceBytesMax: 100))
        try await eventually("the handshake") { client.read(\.applicationProtocol) != nil }
        let message = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        _ = running.loop.perform { client.send(message) }
        try await eventually("the echo") { client.read(\.receivedByteCount) == message.count }
        #expect(client.read(\.received) == message)
    }

    @Test func `bytes sent ahead in another connection's event go over their own socket`() async throws {
        let certificates = try Certificates()
        let (near, far) = (try RunningLoop(), try RunningLoop())
        let server = try Server(try certificates.server(), on: far.loop)
        let context = try certificates.client()
        let first = Endpoint.connect(context, port: server.port, on: near.loop)
        try await eventually("the first handshake") { server.first?.read(\.applicationProtocol) != nil }
        // At each event of a later connection, the first one sends a piece in the middle of that event. All bytes of a
        // connection have one value, so a byte on a wrong socket is seen.
        let piece = [UInt8](repeating: 0, count: 20_000)
        let later = (1...20).map { byte in
            let endpoint = Endpoint { first.sendAhead(piece) }
            let text = String(repeating: Character(UnicodeScalar(UInt8(byte))), count: 50_000)
            return Endpoint.connect(
                context, port: server.port, on: near.loop, as: endpoint, sending: text)
        }
        try await eventually("each has its handshake, and all of its bytes") {
            later.allSatisfy { $0.read(\.applicationProtocol) != nil }
                && server.ends.count == 21
                && server.ends.dropFirst().allSatisfy { $0.read(\.receivedByteCount) == 50_000 }
                && server.first?.read(\.receivedByteCount) == 20 * piece.count
        }
        #expect(server.ends.allSatisfy { end in Set(end.read(\.received)).count == 1 })
        #expect(server.ends.allSatisfy { $0.read(\.closeReasons).isEmpty })
        #expect(Set(server.ends.compactMap { $0.read(\.received).first }) == Set(0...20))
    }

    @Test func `a refused connect is reported once, in a sentence`() async throws {
        let certificates = try Certificates()
        let running = try RunningLoop()
        let listener = try TCPListener(host: "127.0.0.1", port: 0, on: [running.loop], connectionsMax: 1) {
            _ in
            nil
        }
        let port = listener.port
        listener.stop()
        let client = Endpoint.connect(
            try certificates.client(), host: "127.0.0.1", port: port, on: running.loop)
        try await eventually("the end") { !client.read(\.closeReasons).isEmpty }
        #expect(
            client.read(\.closeReasons) == [
                "cannot connect to 127.0.0.1:\(port): 127.0.0.1 says connection refused"
            ])
    }

    @Test func `a connection that is closed in any phase ends once`() async throws {
        let certificates = try Certificates()
        let running = try RunningLoop()
        let server = try Server(try certificates.server(), on: running.loop)
        let context = try certificates.client()
        // The number of iterations decides in which phase of the connect or of the handshake the connection is closed.
        for iterationCount in 0..<12 {
            let client = Endpoint.connect(context, port: server.port, on: running.loop)
            for _ in 0..<iterationCount { _ = running.loop.perform {} }
            _ = running.loop.perform { if client.read(\.closeReasons).isEmpty { client.tls.close() } }
            try await eventually("the end") { !client.read(\.closeReasons).isEmpty }
            _ = running.loop.perform {}
            #expect(client.read(\.closeReasons) == ["connection closed by this process"])
        }
        try await eventually("all gone") { server.listener.connectionCount == 0 }
    }
}
