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
    /// Makes a pusher that reaches the server over this port.
    private func pusher(
        _ server: ScriptedServer, over port: Int, _ change: (inout APNsSettings) -> Void = { _ in }
    ) throws -> Pusher {
        try Pusher(
            Endpoint(host: "localhost", port: port),
            trust: .authorities(.text(server.authority.certificatePEM)), change)
    }

    // MARK: Broken

    // Three connections break at a random byte, which lies in the handshake, in a request or in an answer.
    @Test(.timeLimit(.minutes(10)), arguments: 0..<trialCount(base: 24))
    func `a connection may break at any byte: nothing is lost, and possible duplicates are known`(seed: Int)
        async throws
    {
        let server = try ScriptedServer { connection, request in connection.accept(request) }
        let generator = TracedLock(SeededGenerator(seed: seed))
        let relay = try Relay(to: server.port) { number in
            guard number <= 3 else { return nil }
            return generator.withLock { random in
                let bytesMax = [4_000, 12_000, 80_000][random.number(below: 3)]
                return 1 + random.number(below: bytesMax)
            }
        }
        let openPushesMax = 40
        let pusher = try pusher(server, over: relay.port) {
            $0.pool.requestsMax = openPushesMax
            $0.pool.connectionsMax = 2
            $0.pool.backoffMilliseconds = 10...100
        }
        let count = 300
        pusher.push(1..<UInt64(count) + 1)
        let outcomes = try await pusher.allOutcomes(atLeast: count)
        let unknown = outcomes.filter { $0.value[0].end != .answered }
        #expect(unknown.values.allSatisfy { $0.map(\.end) == [.unknown(.connectionLost)] }, "seed \(seed)")
        #expect(unknown.count <= 3 * openPushesMax, "seed \(seed)")
        #expect(server.read { $0.accepted.values.allSatisfy { $0.count == 1 } }, "seed \(seed)")
        // A sender repeats such pushes if they may be repeated.
        for tag in unknown.keys { try await repeatUntilAnswered(tag, by: pusher) }
        let accepted = server.read { $0.accepted }
        #expect(accepted.count == count, "seed \(seed): a push is lost")
        let duplicates = accepted.filter { $0.value.count > 1 }.keys
        #expect(duplicates.allSatisfy { unknown[$0] != nil }, "seed \(seed)")
    }

    private func repeatUntilAnswered(_ tag: UInt64, by pusher: Pusher) async throws {
        while pusher.ends(of: tag).last != .answered {
            let before = pusher.ends(of: tag).count
            pusher.push(tag..<tag + 1)
            try await eventually("another outcome of push \(tag)") { pusher.ends(of: tag).count > before }
        }
    }

    // MARK: Silent

    /// Whether the tests wait as long as the default settings say. They do with `TEST_SCALE` of 10 or more.
    private let isFullSize = trialCount(base: 1) >= 10

    /// Accepts a request after 5 ms.
    private func acceptSlowly(_ request: ServedRequest, on connection: ServedConnection) {
        connection.after(milliseconds: 5) { connection.accept(request) }
    }

    @Test(.timeLimit(.minutes(3)))
    func `a PING detects a connection that passes no bytes, and other connections continue`()
        async throws
    {
        let server = try ScriptedServer { [self] in acceptSlowly($1, on: $0) }
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
        _ = try await pusher.allOutcomes(atLeast: 2_000)
        #expect(relay.connectionCount == 4)
        relay.dropEverything(on: 1...1)
        let startedAt = Instant.now()
        let deadline = 2 * (limits.silentPingMilliseconds + limits.pongMilliseconds) + 20_000
        pusher.push(2_001..<6_001, deadlineMilliseconds: deadline)
        // All pushes except those on the silent connection. These end when it is closed.
        try await eventually("the answers over the other connections") {
            pusher.outcomes.count >= 6_000 - streams
        }
        let answeredWithin = Instant.now().milliseconds(since: startedAt)
        let outcomes = try await pusher.allOutcomes(atLeast: 6_000)
        let closedWithin = Instant.now().milliseconds(since: startedAt)
        let unanswered = outcomes.values.filter { $0[0].end != .answered }
        #expect((1...streams).contains(unanswered.count))
        #expect(unanswered.allSatisfy { $0.map(\.end) == [.unknown(.connectionLost)] })
        #expect(closedWithin <= limits.silentPingMilliseconds + limits.pongMilliseconds + 4_000)
        #expect(answeredWithin < closedWithin || !isFullSize, "the others waited for the silent one")
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
        #expect(try await pusher.outcome(of: 1).end == .answered)
        relay.dropEverything(on: 1...1)
        try await eventually("another connection") { relay.connectionCount == 2 }
        pusher.push(2..<3)
        #expect(try await pusher.outcome(of: 2).end == .answered)
    }

    @Test func `connections for refused tokens do not use up the permits of the usual ones`() async throws {
        let server = try ScriptedServer { connection, request in connection.accept(request) }
        let pusher = try Pusher(server) {
            // Each budget allows one connection.
            $0.connectBurst = 1
            $0.connectIntervalMilliseconds = 600_000
        }
        pusher.push(1..<2, over: .suspect)
        #expect(try await pusher.outcome(of: 1).end == .answered)
        pusher.push(2..<3)
        #expect(try await pusher.outcome(of: 2).end == .answered)
    }

    // MARK: Down

    // The downtime is a minute if `isFullSize`, else 4 s.
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
        let startedAt = Instant.now()
        for app in UInt64(0)..<5 {
            let profile = PushProfile(
                environment: .sandbox, bundleID: "com.example.app\(app)", key: Pusher.keyName)
            pusher.push(
                app * 100 + 1..<app * 100 + 11, deadlineMilliseconds: 2 * seconds * 1_000 + 60_000,
                profile: profile)
        }
        try await eventually("the end of the downtime", seconds: Double(2 * seconds)) {
            Instant.now().seconds(since: startedAt) >= Double(seconds)
        }
        let attempts = pusher.connectCount("failed")
        let limit = Int(Instant.now().seconds(since: startedAt)) + 10
        #expect((seconds / 2...limit).contains(attempts), "\(attempts) connects")
        #expect(pusher.outcomes.isEmpty)
        let relay = try Relay(to: server.port, port: address.port)
        let outcomes = try await pusher.allOutcomes(atLeast: 50)
        #expect(outcomes.values.allSatisfy { $0.map(\.end) == [.answered] })
        #expect(relay.connectionCount == 5)
    }
}

extension Pusher {
    /// Returns the number of connect attempts with this result.
    func connectCount(_ result: String) -> Int {
        let line = metrics.render().split(separator: "\n").first {
            $0.hasPrefix("flotilla_apns_connects_total{result=\"\(result)\"}")
        }
        return Int(line?.split(separator: " ").last ?? "") ?? 0
    }
}
