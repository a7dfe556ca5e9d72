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
    /// Returns the outcome of one push that gets this answer.
    private func outcome(
        toAnswer status: Int, body: String, headers: [HeaderField] = []
    ) async throws -> Pusher.Outcome {
        let server = try ScriptedServer { connection, request in
            connection.refuse(request, status: status, body: body, headers: headers)
        }
        let pusher = try Pusher(server)
        pusher.push(1..<2)
        return try await pusher.outcome(of: 1)
    }

    @Test(arguments: APNsReason.allCases)
    func `every reason reaches the caller with its disposition`(reason: APNsReason) async throws {
        let outcome = try await outcome(toAnswer: reason.status, body: #"{"reason":"\#(reason.rawValue)"}"#)
        #expect(outcome.end == .answered && outcome.status == reason.status)
        #expect(outcome.disposition == reason.disposition && outcome.details?.response.reason == reason)
    }

    @Test func `a throttled token carries the pause that the answer asks for`() async throws {
        let outcome = try await outcome(
            toAnswer: 429, body: #"{"reason":"TooManyRequests"}"#,
            headers: [HeaderField(name: "retry-after", value: "7")])
        #expect(outcome.disposition == .tokenThrottled && outcome.details?.retryAfterSeconds == 7)
    }

    @Test func `a dead token comes with the time of its death`() async throws {
        let outcome = try await outcome(
            toAnswer: 410, body: #"{"reason":"Unregistered","timestamp":1763600000123}"#)
        #expect(
            outcome.disposition == .tokenGone && outcome.details?.response.timestamp == 1_763_600_000_123)
    }

    @Test(arguments: ["", "x", "{", "<html>no</html>", #"{"reason":"NeverHeardOf"}"#, #"{"reason":7}"#, "[]"])
    func `an unreadable error is classified by its status`(body: String) async throws {
        #expect(try await outcome(toAnswer: 500, body: body).disposition == .serverTrouble)
        #expect(try await outcome(toAnswer: 418, body: body).disposition == .requestFaulty)
    }

    @Test func `an error body of a megabyte is truncated and classified by its status`() async throws {
        let outcome = try await outcome(toAnswer: 503, body: String(repeating: "x", count: 1_000_000))
        #expect(outcome.disposition == .serverTrouble && outcome.details?.response.reason == nil)
        #expect((outcome.details?.body.count ?? 0) <= 4_096)
    }

    @Test func `a wrong setting of one app does not affect another`() async throws {
        let server = try ScriptedServer { connection, request in
            if request.tag < 100 {
                connection.refuse(request, status: 403, reason: "InvalidProviderToken")
            } else {
                connection.accept(request)
            }
        }
        let pusher = try Pusher(server)
        let other = PushProfile(environment: .sandbox, bundleID: "com.example.b", key: Pusher.keyName)
        pusher.push(1..<20)
        pusher.push(100..<600, profile: other)
        let outcomes = try await pusher.allOutcomes(atLeast: 519)
        #expect((1..<20).allSatisfy { outcomes[$0]?[0].disposition == .appMisconfigured })
        #expect((100..<600).allSatisfy { outcomes[$0]?[0].disposition == .accepted })
    }

    // MARK: Provider tokens

    /// Returns a time in the past, at which a provider token was made. An expired token is replaced only if it is at
    /// least 20 minutes old.
    private func minutesAgo(_ minutes: Int) -> Instant {
        Instant.now().advanced(byMilliseconds: -minutes * 60_000)
    }

    @Test func `an expired token is replaced once, however many pushes report it`() async throws {
        // The server refuses the first token after a few requests, and accepts any other.
        let firstBearer = TracedLock<String?>(nil)
        let server = try ScriptedServer { connection, request in
            let bearer = request.headers["authorization"] ?? ""
            let first = firstBearer.withLock { first in
                if first == nil { first = bearer }
                return first
            }
            if bearer == first, connection.requests > 5 {
                connection.refuse(request, status: 403, reason: "ExpiredProviderToken")
            } else {
                connection.accept(request)
            }
        }
        let pusher = try Pusher(server, tokensAt: minutesAgo(30))
        pusher.push(1..<501)
        let outcomes = try await pusher.allOutcomes(atLeast: 500)
        #expect(outcomes.values.allSatisfy { $0.map(\.end) == [.answered] && $0[0].status == 200 })
        #expect(server.read { $0.bearers.count } == 2)
        #expect(pusher.metrics.render().contains("flotilla_apns_provider_tokens_total 2"))
    }

    @Test func `after a young token has expired, the push tries one new connection and then ends`()
        async throws
    {
        let server = try ScriptedServer { connection, request in
            connection.refuse(request, status: 403, reason: "ExpiredProviderToken")
        }
        let pusher = try Pusher(server)
        pusher.push(1..<2)
        let outcome = try await pusher.outcome(of: 1)
        #expect(outcome.end == .answered && outcome.disposition == .providerTokenExpired)
        #expect(server.read { $0.connections } >= 2 && server.read { $0.requests } == 2)
        #expect(server.read { $0.bearers.count } == 1, "no new token was made")
    }

    @Test func `after an answer that a token was made too soon, no further token is made`() async throws {
        let attemptCount = TracedLock(0)
        let server = try ScriptedServer { connection, request in
            guard request.tag == 2 else { return connection.accept(request) }
            // Push 2 is refused twice: its first token has expired, and the one after it was made too soon.
            let isFirst = attemptCount.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst {
                connection.refuse(request, status: 403, reason: "ExpiredProviderToken")
            } else {
                connection.refuse(request, status: 429, reason: "TooManyProviderTokenUpdates")
            }
        }
        let pusher = try Pusher(server, tokensAt: minutesAgo(30))
        pusher.push(1..<2)
        _ = try await pusher.outcome(of: 1)
        pusher.push(2..<3)
        #expect(try await pusher.outcome(of: 2).disposition == .tooManyProviderTokens, "no attempt is left")
        pusher.push(3..<4)
        #expect(try await pusher.outcome(of: 3).disposition == .accepted)
        #expect(server.read { $0.bearers.count } == 2)
        #expect(pusher.metrics.render().contains("flotilla_apns_provider_tokens_total 2"))
    }
}
