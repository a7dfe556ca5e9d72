import Cryptography
import HTTP2
import Identifiers
import Lifecycle
import ProcessTesting
import TLS
import Testing

@testable import APNs

/// Pushes over real sockets: outcomes, withdrawal, keys, and separate connections.
@Suite struct PushTests {
    @Test func `thousands of pushes are each accepted once, with all headers Apple requires`() async throws {
        let first = TracedLock<ServedRequest?>(nil)
        let server = try ScriptedServer { connection, request in
            first.withLock { if $0 == nil { $0 = request } }
            connection.accept(request)
        }
        let pusher = try Pusher(server)
        pusher.push(1..<5_001)
        let outcomes = try await pusher.allOutcomes(atLeast: 5_000)
        #expect(outcomes.values.allSatisfy { $0.count == 1 && $0[0].end == .answered && $0[0].status == 200 })
        #expect(outcomes.values.allSatisfy { $0[0].disposition == .accepted && $0[0].details == nil })
        #expect(server.read { $0.accepted.count == 5_000 && $0.accepted.values.allSatisfy { $0.count == 1 } })
        #expect(server.read { $0.bearers.count } == 1)
        let request = try #require(first.withLock { $0 })
        #expect(request.method == "POST")
        #expect(request.path == "/3/device/" + String(repeating: "ab", count: 24) + "0100000000000000")
        #expect(request.headers["apns-id"] == "00000000-0000-0000-0000-000000000001")
        #expect(request.headers["apns-topic"] == "com.example.matchday.push-type.liveactivity")
        #expect(request.headers["apns-push-type"] == "liveactivity")
        #expect(request.headers["apns-priority"] == "10")
        #expect(request.headers["apns-expiration"] == "1763632800")
        #expect(request.headers["authorization"]?.hasPrefix("bearer eyJ") == true)
        #expect(request.body == Pusher.body)
        #expect(pusher.openPushesMax <= 2_000)
    }

    @Test func `unsent pushes are withdrawn, and sent pushes are not`() async throws {
        let server = try ScriptedServer { connection, request in
            connection.after(milliseconds: 200) { connection.accept(request) }
        }
        let pusher = try Pusher(server)
        @Sendable func push(_ number: UInt64, by client: APNsClient) -> Bool {
            let token = Pusher.token(number)
            let deadline = client.loop.now.advanced(byMilliseconds: 60_000)
            do {
                try client.push(
                    Pusher.template(client), token: token.span, id: PushID(high: 0, low: number), tag: number,
                    deadlines: PushDeadlines(deadline: deadline))
                return true
            } catch {
                return false
            }
        }
        let isFirstTaken = pusher.onLoop { client in
            let isTaken = push(1, by: client)
            client.withdrawAll(of: Pusher.profile)
            return isTaken
        }
        #expect(isFirstTaken)
        #expect(try await pusher.outcome(of: 1).end == .withdrawn)
        #expect(pusher.onLoop { client in push(2, by: client) })
        try await eventually("the push at the server") { server.read { $0.requests } == 1 }
        pusher.onLoop { client in client.withdrawAll(of: Pusher.profile) }
        #expect(try await pusher.outcome(of: 2).end == .answered)
        #expect(server.read { $0.accepted.keys.sorted() } == [2])
    }

    @Test func `without a key file a push is refused with the reason`() async throws {
        let server = try ScriptedServer { connection, request in connection.accept(request) }
        let pusher = try Pusher(server)
        let other = PushProfile(
            environment: .sandbox, bundleID: "com.example.other",
            key: ProviderKeyName(teamID: "TEAM123456", keyID: "MISSING123"))
        #expect(throws: PushRefusal.noProviderKey) {
            try pusher.push(1) { try Pusher.template($0, other) }
        }
        #expect(server.read { $0.connections } == 0)
    }

    @Test func `apps do not share connections, nor do usual, unproven and suspect tokens`() async throws {
        let server = try ScriptedServer { connection, request in connection.accept(request) }
        let pusher = try Pusher(server) { $0.pool.connectionsMax = 1 }
        pusher.push(1..<100)
        pusher.push(100..<200, over: .suspect)
        pusher.push(
            200..<300,
            profile: PushProfile(environment: .sandbox, bundleID: "com.example.b", key: Pusher.keyName))
        pusher.push(300..<400, over: .unproven)
        _ = try await pusher.allOutcomes(atLeast: 399)
        let connections = server.read { state in
            [1..<100, 100..<200, 200..<300, 300..<400].map { (tags: Range<UInt64>) in
                Set(tags.flatMap { state.accepted[$0] ?? [] })
            }
        }
        #expect(connections.allSatisfy { $0.count == 1 } && Set(connections.flatMap { $0 }).count == 4)
    }

    @Test func `a new key closes the connections of the previous key`() async throws {
        let server = try ScriptedServer { connection, request in connection.accept(request) }
        let pusher = try Pusher(server) { $0.pool.connectionsMax = 1 }
        pusher.push(1..<10)
        _ = try await pusher.allOutcomes(atLeast: 9)
        try pusher.replaceKey()
        try await eventually("the connection of the old key closed") {
            server.read { $0.open.isEmpty || $0.connections > 1 }
        }
        pusher.push(10..<20)
        let outcomes = try await pusher.allOutcomes(atLeast: 19)
        #expect(outcomes.values.allSatisfy { $0[0].end == .answered })
        #expect(server.read { $0.bearers.count } == 2)
        #expect(server.read { state in state.accepted[10]?.first != state.accepted[1]?.first })
    }
}
