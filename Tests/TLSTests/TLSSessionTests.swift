import Simulation
import Testing

@testable import TLS

/// Sessions connected in memory, without a socket or a loop. `Pair.exchange` moves the bytes and collects the events.
@Suite struct TLSSessionTests {
    /// A client session and a server session, and the wires between them.
    private final class Pair {
        let client: TLSSession
        let server: TLSSession
        /// The events of both sessions, for example `client h2`.
        var events: [String] = []
        var atServer: [UInt8] = []
        var atClient: [UInt8] = []

        init(_ certificates: Certificates, host: String = "localhost") throws {
            client = TLSSession(
                context: try certificates.client(), host: host, peer: "server", scratch: TLSScratchBuffers())
            server = TLSSession(
                context: try certificates.server(), host: nil, peer: "client", scratch: TLSScratchBuffers())
        }

        /// Moves bytes in both directions, in pieces of `size` bytes, until no side has any. `flipping` may change the
        /// bytes for the server.
        func exchange(size: Int, flipping: (inout [UInt8]) -> Void = { _ in }) {
            handleEvents(of: client, named: "client")
            while true {
                var toServer = takeOutgoing(of: client)
                let toClient = takeOutgoing(of: server)
                if toServer.isEmpty && toClient.isEmpty { return }
                flipping(&toServer)
                deliver(toServer, to: server, named: "server", pieceSize: size)
                deliver(toClient, to: client, named: "client", pieceSize: size)
            }
        }

        private func takeOutgoing(of session: TLSSession) -> [UInt8] {
            defer { session.dropOutgoing() }
            return Array(session.outgoing)
        }

        private func deliver(
            _ bytes: [UInt8], to session: TLSSession, named name: String, pieceSize: Int
        ) {
            var start = 0
            while start < bytes.count {
                let end = min(start + pieceSize, bytes.count)
                bytes[start..<end].withUnsafeBytes { piece in
                    session.provideInput(piece)
                    handleEvents(of: session, named: name)
                }
                start = end
            }
        }

        private func handleEvents(of session: TLSSession, named name: String) {
            while true {
                switch session.nextEvent() {
                case .needsInput: return
                case .established(let applicationProtocol): events.append("\(name) \(applicationProtocol)")
                case .plaintext(let bytes):
                    if name == "server" { atServer += bytes } else { atClient += bytes }
                    session.dropPlaintext()
                case .ended:
                    events.append("\(name) ended")
                    return
                case .failed(let failure):
                    events.append("\(name) \(failure)")
                    return
                }
            }
        }
    }

    @Test(arguments: [1, 2, 7, 1_400, 16_389, 1_000_000])
    func `ciphertext may arrive in any pieces`(size: Int) throws {
        let pair = try Pair(try Certificates())
        pair.exchange(size: size)
        #expect(pair.events.sorted() == ["client h2", "server h2"])
        let message = (0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        for start in stride(from: 0, to: message.count, by: TLSScratchBuffers.recordBytes) {
            let end = min(start + TLSScratchBuffers.recordBytes, message.count)
            try message[start..<end].withUnsafeBytes { try pair.client.encrypt($0) }
        }
        try ([1, 2, 3] as [UInt8]).withUnsafeBytes { try pair.server.encrypt($0) }
        pair.exchange(size: size)
        #expect(pair.atServer == message)
        #expect(pair.atClient == [1, 2, 3])
        try ([4] as [UInt8]).withUnsafeBytes { try pair.client.encrypt($0) }
        pair.client.shutdown()
        pair.exchange(size: size)
        #expect(pair.atServer.last == 4)
        #expect(pair.events.filter { $0 == "server ended" }.count == 1)
    }

    @Test func `a full buffer becomes one record`() throws {
        let pair = try Pair(try Certificates())
        pair.exchange(size: 1_000_000)
        let message = [UInt8](repeating: 1, count: TLSScratchBuffers.recordBytes)
        try message.withUnsafeBytes { try pair.client.encrypt($0) }
        let outgoing = Array(pair.client.outgoing)
        // The type of a record with data.
        #expect(outgoing[0] == 0x17)
        // The head of a record has five bytes, of which the last two are the length.
        let bodyBytes = Int(outgoing[3]) << 8 | Int(outgoing[4])
        #expect(outgoing.count == 5 + bodyBytes, "exactly one record")
    }

    @Test func `nothing is written before the handshake is done`() throws {
        let pair = try Pair(try Certificates())
        try ([1, 2, 3] as [UInt8]).withUnsafeBytes { try pair.client.encrypt($0) }
        #expect(pair.client.outgoing.isEmpty)
        pair.exchange(size: 1_000)
        #expect(pair.atServer.isEmpty)
    }

    @Test func `a changed byte ends the session`() throws {
        let pair = try Pair(try Certificates())
        pair.exchange(size: 1_000)
        try ([1, 2, 3] as [UInt8]).withUnsafeBytes { try pair.client.encrypt($0) }
        // The head of a record has five bytes, so this byte is ciphertext.
        pair.exchange(size: 1_000) { if $0.count > 8 { $0[8] ^= 1 } }
        #expect(pair.atServer.isEmpty)
        #expect(pair.events.contains { $0.hasPrefix("server TLS with client is broken: ") })
        #expect(
            pair.events.contains { $0.hasPrefix("client TLS with server is broken: ") }, "the alert arrives")
    }

    @Test(arguments: 0..<64) func `any changed byte of a handshake neither traps nor passes`(seed: Int)
        throws
    {
        let pair = try Pair(try Certificates())
        var generator = SeededGenerator(seed: seed)
        var hasChanged = false
        pair.exchange(size: 5_000) { bytes in
            guard !bytes.isEmpty, !hasChanged else { return }
            hasChanged = true
            bytes[Int.random(in: 0..<bytes.count, using: &generator)] ^= UInt8.random(
                in: 1...255, using: &generator)
        }
        try ([7] as [UInt8]).withUnsafeBytes { try pair.client.encrypt($0) }
        pair.exchange(size: 5_000)
        #expect(!pair.events.contains("server h2") || pair.atServer.isEmpty)
    }

    @Test func `an invalid host name is refused and never means any host`() throws {
        let pair = try Pair(try Certificates(), host: "a\u{1}b c")
        pair.exchange(size: 1_000)
        #expect(!pair.events.contains("client h2"))
    }

    @Test func `a session cannot use memory that holds ciphertext of another session`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let certificates = try Certificates()
            let scratch = TLSScratchBuffers()
            let first = TLSSession(
                context: try certificates.client(), host: "localhost", peer: "first", scratch: scratch)
            let second = TLSSession(
                context: try certificates.client(), host: "localhost", peer: "second", scratch: scratch)
            _ = first.nextEvent()
            _ = second.nextEvent()
        }
        let errors = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(errors.contains("another session uses the ciphertext buffer"), "\(errors)")
    }
}
