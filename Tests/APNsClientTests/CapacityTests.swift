import HTTP2
import Identifiers
import Lifecycle
import ProcessTesting
import TLS
import Telemetry
import Testing

@testable import APNs

/// The limits of one app, and the capacity that other apps keep. `Pusher` has one app by default; `other` is a second
/// one.
@Suite struct CapacityTests {
    private static let other = PushProfile(
        environment: .sandbox, bundleID: "com.example.other", key: Pusher.keyName)

    @Test func `an app whose pushes get no answer does not slow another app`() async throws {
        // The server ignores pushes from this tag on.
        let firstUnanswered = UInt64(100_000)
        let server = try ScriptedServer { connection, request in
            if request.tag < firstUnanswered { connection.accept(request) }
        }
        let alone = try Pusher(server)
        let beside = try Pusher(server)
        let takenCount = beside.onLoop { client -> Int in
            guard let template = try? Pusher.template(client, Self.other) else { return 0 }
            let deadlines = PushDeadlines(deadline: client.loop.now.advanced(byMilliseconds: 60_000))
            return (0..<5_000).count { index in
                let token = Pusher.token(UInt64(index))
                let tag = firstUnanswered + UInt64(index)
                return
                    (try? client.push(
                        template, token: token.span, id: PushID(high: 0, low: tag), tag: tag,
                        deadlines: deadlines))
                    != nil
            }
        }
        #expect(takenCount == beside.provider.settings.pool.waitingMax, "it holds only its waiting pushes")
        // Both run at the same time, so that other load on the machine slows both.
        let startedAt = Instant.now()
        alone.push(1..<4_001)
        beside.push(10_001..<14_001)
        _ = try await alone.allOutcomes(atLeast: 4_000)
        let aloneMilliseconds = Instant.now().milliseconds(since: startedAt)
        _ = try await beside.allOutcomes(atLeast: 4_000)
        let besideMilliseconds = Instant.now().milliseconds(since: startedAt)
        #expect(besideMilliseconds < 3 * aloneMilliseconds + 2_000)
    }

    // APNs lowers the stream limit of a connection with bad tokens. This server lowers it to one stream at once.
    @Test func `a thousand bad tokens do not slow the good tokens`() async throws {
        let firstBadToken = UInt64(100_000)
        let server = try ScriptedServer { connection, request in
            guard request.tag >= firstBadToken else { return connection.accept(request) }
            connection.change(streamsMax: 1)
            connection.after(milliseconds: 20) {
                connection.refuse(request, status: 400, reason: "BadDeviceToken")
            }
        }
        let alone = try Pusher(server) { $0.pool.connectionsMax = 1 }
        let beside = try Pusher(server) {
            $0.pool.connectionsMax = 1
            // The bad tokens wait in their own pool, and not in the test's queue.
            $0.pool.waitingMax = 1_000
        }
        beside.push(firstBadToken..<firstBadToken + 1_000, over: .suspect)
        // Both run at the same time, so that other load on the machine slows both.
        let startedAt = Instant.now()
        alone.push(1..<4_001)
        beside.push(10_001..<14_001)
        _ = try await alone.allOutcomes(atLeast: 4_000)
        let aloneMilliseconds = Instant.now().milliseconds(since: startedAt)
        try await eventually("the good tokens' answers") {
            server.read { state in (10_001..<14_001).allSatisfy { state.accepted[$0] != nil } }
        }
        let besideMilliseconds = Instant.now().milliseconds(since: startedAt)
        // The bad tokens alone take 20 s.
        #expect(besideMilliseconds < 3 * aloneMilliseconds + 2_000)
    }

    @Test func `the capacity is known before a push, and a push above it is refused as full`() async throws {
        let server = try ScriptedServer { connection, request in
            connection.after(milliseconds: 50) { connection.accept(request) }
        }
        let pusher = try Pusher(server) {
            $0.pool.waitingMax = 5
            $0.pool.requestsMax = 8
        }
        let (before, taken, after) = pusher.onLoop { client -> (Int, Int, Int) in
            guard let template = try? Pusher.template(client) else { return (0, 0, 0) }
            let before = client.capacity(for: template)
            let deadlines = PushDeadlines(deadline: client.loop.now.advanced(byMilliseconds: 60_000))
            let taken = (1...20).count { tag in
                do throws(PushRefusal) {
                    let token = Pusher.token(UInt64(tag))
                    try client.push(
                        template, token: token.span, id: PushID(high: 0, low: UInt64(tag)), tag: UInt64(tag),
                        deadlines: deadlines)
                    return true
                } catch {
                    return error != .full
                }
            }
            return (before, taken, client.capacity(for: template))
        }
        #expect(before == 5 && taken == 5 && after == 0, "without a connection all of them wait")
        _ = try await pusher.allOutcomes(atLeast: 5)
        // The connection has more free streams than the pool takes requests.
        #expect(
            pusher.onLoop { client in (try? Pusher.template(client)).map { client.capacity(for: $0) } } == 8)
    }

    @Test func `channel management has its own limits`() async throws {
        let server = try ScriptedServer { connection, request in
            if request.path.hasSuffix("all-channels") {
                connection.refuse(request, status: 200, body: #"{"channels":["a"]}"#)
            }
        }
        let pusher = try Pusher(server) {
            $0.pool.requestsMax = 10
            $0.pool.waitingMax = 10
        }
        pusher.push(1..<101)
        try await eventually("a full pool") { pusher.onLoop { $0.openPushes } >= 10 }
        let channels = pusher.onLoop { ChannelClient(client: $0) }
        #expect(try await channels.listChannels(for: Pusher.profile) == ["a"])
    }

    @Test func `all unsent pushes of one app are withdrawn at once, and those of another app are not`()
        async throws
    {
        let isHeld = TracedLock(true)
        let server = try ScriptedServer { connection, request in
            func answer() {
                if isHeld.withLock({ $0 }) { return connection.after(milliseconds: 10) { answer() } }
                connection.accept(request)
            }
            answer()
        }
        let pusher = try Pusher(server) { $0.pool.connectionsMax = 1 }
        pusher.push(1..<21)
        pusher.push(21..<41, profile: Self.other)
        try await eventually("a push of each at the server") { server.read { $0.requests } == 2 }
        pusher.onLoop { $0.withdrawAll(of: Pusher.profile) }
        isHeld.withLock { $0 = false }
        let outcomes = try await pusher.allOutcomes(atLeast: 40)
        #expect((1..<21).count { outcomes[$0]?.map(\.end) == [.withdrawn] } == 19)
        #expect((21..<41).allSatisfy { outcomes[$0]?.map(\.end) == [.answered] })
    }

    @Test func `an overdue push has a final outcome when no answer can follow`() async throws {
        let server = try ScriptedServer { _, _ in }
        let pusher = try Pusher(server) { $0.pool.lateAnswerMilliseconds = 300 }
        pusher.push(1..<2, deadlineMilliseconds: 200)
        try await eventually("the final outcome") { pusher.ends(of: 1).count == 2 }
        let outcomes = try #require(pusher.outcomes[1])
        #expect(outcomes.map(\.end) == [.unknown(.overdue), .unknown(.overdue)])
        #expect(outcomes.map(\.isLate) == [false, true])
        #expect(!pusher.metrics.render().contains("flotilla_apns_late_answers_total 1"))
    }

    @Test func `a connection that answers PING but no pushes is replaced, and later pushes arrive`()
        async throws
    {
        // The first connection answers no pushes, the second one does, and so on.
        let server = try ScriptedServer { connection, request in
            if connection.number.isMultiple(of: 2) { connection.accept(request) }
        }
        let pusher = try Pusher(server) {
            $0.pool.lateAnswerMilliseconds = 60_000
            $0.pool.backoffMilliseconds = 1...50
        }
        for (index, connections) in PushConnections.allCases.enumerated() {
            let first = UInt64(1 + 1_000 * index)
            var last = first
            while !pusher.ends(of: last).contains(.answered), last < first + 20 {
                last += 1
                pusher.push(last..<last + 1, deadlineMilliseconds: 300, over: connections)
                _ = try await pusher.outcome(of: last)
            }
            // A few pushes are overdue before the connection counts as unresponsive.
            #expect(last <= first + 4, "\(last)")
        }
    }

    @Test func `an unused pool is removed, and a kept template brings it back`() async throws {
        let server = try ScriptedServer { connection, request in connection.accept(request) }
        let pusher = try Pusher(server) {
            $0.pool.idleConnectionMilliseconds = 100
            $0.idlePoolMilliseconds = 300
        }
        let kept = KeptTemplate()
        pusher.onLoop { kept.template = try? Pusher.template($0) }
        try pusher.push(1) { _ in try #require(kept.template) }
        _ = try await pusher.outcome(of: 1)
        try await eventually("no pools") { pusher.onLoop { $0.poolCount } == 0 }
        try await eventually("no connections") { server.read { $0.open.isEmpty } }
        try pusher.push(2) { _ in try #require(kept.template) }
        #expect(try await pusher.outcome(of: 2).end == .answered)
        pusher.onLoop { _ in kept.template = nil }
    }
}

/// A template, confined to the client's loop.
private final class KeptTemplate: @unchecked Sendable {
    var template: PushTemplate?
}
