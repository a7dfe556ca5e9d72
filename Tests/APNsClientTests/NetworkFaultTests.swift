import Cryptography
import Glibc
import HTTP2
import Identifiers
import Lifecycle
import ProcessTesting
import Simulation
import TLS
import Telemetry
import Testing

@testable import APNs

/// A network that breaks, loses everything silently, or is down for a while.
@Suite struct NetworkFaultTests {
    private func pusher(
        _ server: ScriptedServer, over port: Int, _ change: (inout APNsSettings) -> Void = { _ in }
    ) throws -> Pusher {
        try Pusher(
            Endpoint(host: "localhost", port: port),
            trust: .authorities(.text(server.authority.certificatePEM)), change)
    }

    // MARK: Broken

    /// Three connections break at random bytes: in the handshake, in a request or in an answer.
    @Test(.timeLimit(.minutes(10)), arguments: 0..<trialCount(base: 24))
    func `a connection may break at any byte: nothing is lost, and possible duplicates are known`(seed: Int)
        async throws
    {
        let server = try ScriptedServer { connection, request in connection.accept(request) }
        let cuts = TracedLock(SeededGenerator(seed: seed))
        let relay = try Relay(to: server.port) { number in
            guard number <= 3 else { return nil }
            return cuts.withLock { 1 + $0.number(below: [4_000, 12_000, 80_000][$0.number(below: 3)]) }
        }
        let open = 40
        let pusher = try pusher(server, over: relay.port) {
            $0.pool.requestsMax = open
            $0.pool.connectionsMax = 2
            $0.pool.backoffMilliseconds = 10...100
        }
        let count = 300
        pusher.push(1..<UInt64(count) + 1)
        let seen = try await pusher.all(count)
        let unknown = seen.filter { $0.value[0].end != .answered }
        #expect(unknown.values.allSatisfy { $0.map(\.end) == [.unknown(.connectionLost)] }, "seed \(seed)")
        #expect(unknown.count <= 3 * open, "seed \(seed)")
        #expect(server.read { $0.accepted.values.allSatisfy { $0.count == 1 } }, "seed \(seed)")
        // Repeats the push until it is answered, as a sender does for a push that may be repeated.
        for tag in unknown.keys { try await repeatUntilAnswered(tag, pusher) }
        let accepted = server.read { $0.accepted }
        #expect(accepted.count == count, "seed \(seed): a push is lost")
        let doubled = accepted.filter { $0.value.count > 1 }.keys
        #expect(doubled.allSatisfy { unknown[$0] != nil }, "seed \(seed)")
    }

    private func repeatUntilAnswered(_ tag: UInt64, _ pusher: Pusher) async throws {
        while pusher.ends(tag).last != .answered {
            let before = pusher.ends(tag).count
            pusher.push(tag..<tag + 1)
            try await eventually("another outcome of push \(tag)") { pusher.ends(tag).count > before }
        }
    }

    // MARK: Silent

    /// Whether the test uses the default settings, which needs ten times the usual trials.
    private let isFullSize = trialCount(base: 1) >= 10

    private func slowly(_ server: ServedConnection, _ request: ServedRequest) {
        server.after(milliseconds: 5) { server.accept(request) }
    }

    @Test(.timeLimit(.minutes(3)))
    func `a PING detects a connection that passes no bytes, and other connections continue`()
        async throws
    {
        let server = try ScriptedServer { [self] in slowly($0, $1) }
        let relay = try Relay(to: server.port)
        let streams = 20
        let pusher = try pusher(server, over: relay.port) {
            $0.pool.streamsPerConnectionMax = streams
            $0.pool.requestsMax = 4 * streams
            if !isFullSize {
                $0.pool.silentPingMilliseconds = 1_000
                $0.pool.pongMilliseconds = 500
            }
        }
        let limits = pusher.provider.settings.pool
        pusher.push(1..<2_001)
        _ = try await pusher.all(2_000)
        #expect(relay.connections == 4)
        relay.vanish(1...1)
        let began = Instant.now()
        let deadline = 2 * (limits.silentPingMilliseconds + limits.pongMilliseconds) + 20_000
        pusher.push(2_001..<6_001, deadlineMilliseconds: deadline)
        // All pushes except those on the silent connection. These end when it is closed.
        try await eventually("the answers over the other connections") {
            pusher.seen.count >= 6_000 - streams
        }
        let answeredWithin = Instant.now().milliseconds(since: began)
        let seen = try await pusher.all(6_000)
        let foundWithin = Instant.now().milliseconds(since: began)
        let unanswered = seen.values.filter { $0[0].end != .answered }
        #expect((1...streams).contains(unanswered.count))
        #expect(unanswered.allSatisfy { $0.map(\.end) == [.unknown(.connectionLost)] })
        #expect(foundWithin <= limits.silentPingMilliseconds + limits.pongMilliseconds + 4_000)
        #expect(answeredWithin < foundWithin || !isFullSize, "the others waited for the silent one")
        #expect(server.read { $0.accepted.values.allSatisfy { $0.count == 1 } })
    }

    @Test(.timeLimit(.minutes(3)))
    func `an idle connection that passes no bytes is replaced before it is needed`()
        async throws
    {
        let server = try ScriptedServer { connection, request in connection.accept(request) }
        let relay = try Relay(to: server.port)
        let pusher = try pusher(server, over: relay.port) {
            $0.pool.idlePingMilliseconds = 300
            $0.pool.pongMilliseconds = 300
        }
        pusher.push(1..<2)
        #expect(try await pusher.outcome(1).end == .answered)
        relay.vanish(1...1)
        try await eventually("another connection") { relay.connections == 2 }
        pusher.push(2..<3)
        #expect(try await pusher.outcome(2).end == .answered)
    }

    // MARK: Down

    /// The downtime is a minute if the tests run at ten times their usual size.
    @Test(.timeLimit(.minutes(4)))
    func `a host that is down costs one connect a second for all apps, and then all pushes arrive`()
        async throws
    {
        let (descriptor, address) = try TCPListener.bind(host: "127.0.0.1", port: 0)
        close(descriptor)
        let server = try ScriptedServer { connection, request in connection.accept(request) }
        let pusher = try pusher(server, over: address.port) {
            $0.connectBurst = 1
            // The pauses are short, so that only the budget limits the connects.
            $0.pool.backoffMilliseconds = 50...200
        }
        let seconds = isFullSize ? 60 : 4
        let began = Instant.now()
        for app in UInt64(0)..<5 {
            let profile = PushProfile(
                environment: .sandbox, bundleID: "com.example.app\(app)", key: Pusher.keyName)
            pusher.push(
                app * 100 + 1..<app * 100 + 11, deadlineMilliseconds: 2 * seconds * 1_000 + 60_000,
                profile: profile)
        }
        try await eventually("the end of the downtime", seconds: Double(2 * seconds)) {
            Instant.now().seconds(since: began) >= Double(seconds)
        }
        let tried = pusher.connects("failed")
        let limit = Int(Instant.now().seconds(since: began)) + 10
        #expect((seconds / 2...limit).contains(tried), "\(tried) connects")
        #expect(pusher.seen.isEmpty)
        let relay = try Relay(to: server.port, port: address.port)
        let seen = try await pusher.all(50)
        #expect(seen.values.allSatisfy { $0.map(\.end) == [.answered] })
        #expect(relay.connections == 5)
    }
}

extension Pusher {
    /// Returns the number of connect attempts with this result.
    func connects(_ result: String) -> Int {
        let line = metrics.render().split(separator: "\n").first {
            $0.hasPrefix("flotilla_apns_connects_total{result=\"\(result)\"}")
        }
        return Int(line?.split(separator: " ").last ?? "") ?? 0
    }
}
