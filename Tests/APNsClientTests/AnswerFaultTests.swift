import Cryptography
import HTTP2
import Identifiers
import Lifecycle
import ProcessTesting
import TLS
import Telemetry
import Testing

@testable import APNs

/// Error answers. Each has its own meaning for the push, the token, the app and the connection.
@Suite struct AnswerFaultTests {
    /// Returns the outcome of one push with this answer.
    private func answer(
        _ status: Int, _ body: String, _ headers: [HeaderField] = []
    ) async throws -> Pusher.Seen {
        let server = try ScriptedServer { connection, request in
            connection.refuse(request, status, body, headers)
        }
        let pusher = try Pusher(server)
        pusher.push(1..<2)
        return try await pusher.outcome(1)
    }

    @Test(arguments: APNsReason.allCases)
    func `every reason reaches the caller with its disposition`(reason: APNsReason) async throws {
        let seen = try await answer(reason.status, #"{"reason":"\#(reason.rawValue)"}"#)
        #expect(seen.end == .answered && seen.status == reason.status)
        #expect(seen.disposition == reason.disposition && seen.details?.response.reason == reason)
    }

    @Test func `a throttled token carries the pause that the answer asks for`() async throws {
        let seen = try await answer(
            429, #"{"reason":"TooManyRequests"}"#, [HeaderField(name: "retry-after", value: "7")])
        #expect(seen.disposition == .tokenThrottled && seen.details?.retryAfterSeconds == 7)
    }

    @Test func `a dead token comes with the time of its death`() async throws {
        let seen = try await answer(410, #"{"reason":"Unregistered","timestamp":1763600000123}"#)
        #expect(seen.disposition == .tokenGone && seen.details?.response.timestamp == 1_763_600_000_123)
    }

    @Test(arguments: ["", "x", "{", "<html>no</html>", #"{"reason":"NeverHeardOf"}"#, #"{"reason":7}"#, "[]"])
    func `an unreadable error is judged by its status`(body: String) async throws {
        #expect(try await answer(500, body).disposition == .serverTrouble)
        #expect(try await answer(418, body).disposition == .requestFaulty)
    }

    @Test func `an error body of a megabyte is truncated and judged by its status`() async throws {
        let seen = try await answer(503, String(repeating: "x", count: 1_000_000))
        #expect(seen.disposition == .serverTrouble && seen.details?.response.reason == nil)
        #expect((seen.details?.body.count ?? 0) <= 4_096)
    }

    @Test func `a wrong setting of one app does not affect another`() async throws {
        let server = try ScriptedServer { connection, request in
            if request.tag < 100 {
                connection.refuse(request, 403, reason: "InvalidProviderToken")
            } else {
                connection.accept(request)
            }
        }
        let pusher = try Pusher(server)
        let other = PushProfile(environment: .sandbox, bundleID: "com.example.b", key: Pusher.keyName)
        pusher.push(1..<20)
        pusher.push(100..<600, profile: other)
        let seen = try await pusher.all(519)
        #expect((1..<20).allSatisfy { seen[$0]?[0].disposition == .appMisconfigured })
        #expect((100..<600).allSatisfy { seen[$0]?[0].disposition == .accepted })
    }

    // MARK: Provider tokens

    private func minutesAgo(_ minutes: Int) -> Instant {
        Instant.now().advanced(byMilliseconds: -minutes * 60_000)
    }

    @Test func `an expired token is replaced once, however many pushes report it`() async throws {
        let first = TracedLock<String?>(nil)
        let server = try ScriptedServer { connection, request in
            let bearer = request.headers["authorization"] ?? ""
            let old = first.withLock { old in
                if old == nil { old = bearer }
                return old
            }
            if bearer == old, connection.requests > 5 {
                connection.refuse(request, 403, reason: "ExpiredProviderToken")
            } else {
                connection.accept(request)
            }
        }
        let pusher = try Pusher(server, tokensAt: minutesAgo(30))
        pusher.push(1..<501)
        let seen = try await pusher.all(500)
        #expect(seen.values.allSatisfy { $0.map(\.end) == [.answered] && $0[0].status == 200 })
        #expect(server.read { $0.bearers.count } == 2)
        #expect(pusher.metrics.render().contains("flotilla_apns_provider_tokens_total 2"))
    }

    @Test func `after a young token has expired, the push tries one new connection and then ends`()
        async throws
    {
        let server = try ScriptedServer { connection, request in
            connection.refuse(request, 403, reason: "ExpiredProviderToken")
        }
        let pusher = try Pusher(server)
        pusher.push(1..<2)
        let seen = try await pusher.outcome(1)
        #expect(seen.end == .answered && seen.disposition == .providerTokenExpired)
        #expect(server.read { $0.connections } >= 2 && server.read { $0.requests } == 2)
        #expect(server.read { $0.bearers.count } == 1, "no new token was made")
    }

    @Test func `too many token updates restore the previous token`() async throws {
        let tries = TracedLock(0)
        let server = try ScriptedServer { connection, request in
            guard request.tag == 2 else { return connection.accept(request) }
            let isFirst = tries.withLock { tries in
                tries += 1
                return tries == 1
            }
            if isFirst {
                connection.refuse(request, 403, reason: "ExpiredProviderToken")
            } else {
                connection.refuse(request, 429, reason: "TooManyProviderTokenUpdates")
            }
        }
        let pusher = try Pusher(server, tokensAt: minutesAgo(30))
        pusher.push(1..<2)
        _ = try await pusher.outcome(1)
        pusher.push(2..<3)
        #expect(try await pusher.outcome(2).disposition == .tooManyProviderTokens, "no attempt is left")
        pusher.push(3..<4)
        #expect(try await pusher.outcome(3).disposition == .accepted)
        #expect(server.read { $0.bearers.count } == 2)
        #expect(pusher.metrics.render().contains("flotilla_apns_provider_tokens_total 2"))
    }
}
