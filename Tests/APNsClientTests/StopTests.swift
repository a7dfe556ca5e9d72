import Cryptography
import HTTP2
import Lifecycle
import ProcessTesting
import TLS
import Telemetry
import Testing

@testable import APNs

/// The stop of a client: each push has an outcome, each call returns, and nothing is left.
@Suite struct StopTests {
    /// Stops the client. The result becomes true when the stop is complete.
    private func stop(_ pusher: Pusher, milliseconds: Int) async throws -> TracedLock<Bool> {
        let isOver = TracedLock(false)
        pusher.onLoop { client in
            client.stop(by: client.loop.now.advanced(byMilliseconds: milliseconds)) {
                isOver.withLock { $0 = true }
            }
        }
        return isOver
    }

    @Test func `pushes that wait for a connection end as unprocessed, and channel calls return`()
        async throws
    {
        // The server accepts connections and never sends a byte.
        let run = try RunningLoop()
        let mute = MuteListener()
        let listener = try TCPListener(host: "127.0.0.1", port: 0, on: [run.loop], connectionsMax: 100) { _ in
            mute
        }
        defer { listener.stop() }
        let pusher = try Pusher(
            Endpoint(host: "127.0.0.1", port: listener.port),
            trust: .authorities(.text(CertificateAuthority(name: "x").certificatePEM)))
        pusher.push(1..<21)
        let channels = pusher.onLoop { ChannelClient(client: $0) }
        let call = Task { try? await channels.listChannels(for: Pusher.profile) }
        try await eventually("the call") { pusher.onLoop { $0.openPushes } == 21 }
        let isOver = try await stop(pusher, milliseconds: 60_000)
        try await eventually("the end of the stop", seconds: 5) { isOver.withLock { $0 } }
        #expect((1..<21).allSatisfy { pusher.ends(of: $0) == [.notProcessed(.stopped)] })
        #expect(await call.value == nil)
        #expect(pusher.onLoop { $0.openPushes == 0 && $0.poolCount == 0 })
        #expect(throws: PushRefusal.stopped) { try pusher.push(50) { try Pusher.template($0) } }
        await #expect(throws: ChannelError.self) { try await channels.listChannels(for: Pusher.profile) }
    }

    @Test func `sent pushes are awaited until the deadline and are unknown after it`() async throws {
        let server = try ScriptedServer { connection, request in
            if request.tag.isMultiple(of: 2) {
                connection.after(milliseconds: 300) { connection.accept(request) }
            }
        }
        let pusher = try Pusher(server) { $0.pool.connectionsMax = 1 }
        pusher.push(2..<3)
        _ = try await pusher.outcome(of: 2)
        pusher.push(3..<11)
        try await eventually("the pushes at the server") { server.read { $0.requests } == 9 }
        let isOver = try await stop(pusher, milliseconds: 1_500)
        try await eventually("the answers that come") { pusher.outcomes.count >= 5 }
        #expect(!isOver.withLock { $0 })
        try await eventually("the end of the stop", seconds: 5) { isOver.withLock { $0 } }
        for tag in UInt64(3)..<11 {
            let expected: PushEnd = tag.isMultiple(of: 2) ? .answered : .unknown(.connectionLost)
            #expect(pusher.ends(of: tag) == [expected])
        }
    }

    @Test func `an idle client stops at once, and can be stopped again`() async throws {
        let server = try ScriptedServer { connection, request in connection.accept(request) }
        let pusher = try Pusher(server)
        for _ in 0..<2 {
            let isOver = try await stop(pusher, milliseconds: 60_000)
            try await eventually("the end of the stop", seconds: 5) { isOver.withLock { $0 } }
        }
    }
}

/// Reads everything and sends nothing.
private final class MuteListener: TCPConnectionDelegate, @unchecked Sendable {
    func didConnect() {}
    func didReceive(_ bytes: UnsafeRawBufferPointer) {}
    func didBecomeWritable() {}
    func didClose(reason: TCPCloseReason) {}
}
