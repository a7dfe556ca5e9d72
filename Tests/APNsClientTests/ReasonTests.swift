import Identifiers
import Lifecycle
import ProcessTesting
import Telemetry
import Testing

@testable import APNs
@testable import APNsSimulator

/// Every reason of Apple's table (`APNsReason`). The simulator answers with it because a request is wrong, or because a
/// script orders it. The client must react as the reason's disposition says.
@Suite struct ReasonTests {
    // MARK: Wrong requests

    @Test(arguments: WrongRequest.pushes + WrongRequest.broadcastsAndChannels)
    func `a wrong request gets its reason and its disposition, and is not sent again`(
        wrong: WrongRequest
    ) async throws {
        let stand = try SimulatorStand(key: wrong.key, clockLagSeconds: wrong.clockLagSeconds) {
            // So that the valid request for a channel is refused too (`cannotCreateChannel`).
            $0.channelsMax = 0
        }
        let profile = stand.profile
        try stand.pusher.push(1) { client in try wrong.template(for: client, profile: profile) }
        let outcome = try await stand.pusher.outcome(of: 1)
        #expect(outcome.end == .answered && outcome.details?.response.reason == wrong.reason, "\(outcome)")
        #expect(outcome.status == wrong.reason.status && outcome.disposition == wrong.reason.disposition)
        #expect(stand.summary.requests == wrong.attempts)
        let isGone = wrong.reason.disposition == .tokenGone
        #expect((outcome.details?.response.timestamp != nil) == isGone)
    }

    @Test func `only the token with too many pushes is throttled`() async throws {
        let stand = try SimulatorStand {
            $0.rateLimit = RateLimitSettings(burst: 1, refillMilliseconds: 600_000)
        }
        for tag in UInt64(1)...2 {
            stand.pusher.push(tag..<tag + 1, profile: stand.profile)
            #expect(try await stand.pusher.outcome(of: tag).disposition == .accepted)
        }
        let profile = stand.profile
        let again = WrongRequest(.tooManyRequests) {
            $0.path = "/3/device/" + String(decoding: Hex.encode(Pusher.token(1)), as: UTF8.self)
        }
        try stand.pusher.push(3) { client in try again.template(for: client, profile: profile) }
        let outcome = try await stand.pusher.outcome(of: 3)
        #expect(
            outcome.details?.response.reason == .tooManyRequests && outcome.disposition == .tokenThrottled)
    }

    @Test func `each reason follows from a wrong request or from a script`() {
        let caused = (WrongRequest.pushes + WrongRequest.broadcastsAndChannels).map(\.reason)
        let scripted = Set(APNsReason.allCases).subtracting(caused).subtracting([.tooManyRequests])
        // Errors inside Apple, errors of certificates, and errors that this client cannot cause.
        #expect(
            scripted == [
                .idleTimeout, .shutdown, .internalServerError, .serviceUnavailable, .badCertificate,
                .badCertificateEnvironment, .forbidden, .badEnvironmentKeyID, .missingProviderToken,
                .unrelatedKeyID, .tooManyProviderTokenUpdates,
            ])
    }

    // MARK: Good requests

    /// Returns a script that gives the first `times` requests of push 1 this answer.
    private func script(_ answer: String, times: Int) -> String {
        let token = String(decoding: Hex.encode(Pusher.token(1)), as: UTF8.self)
        return """
            {"rules":[{"match":{"tokens":["\(token)"],"times":\(times)},"answer":{\(answer)}}]}
            """
    }

    @Test(arguments: APNsReason.allCases)
    func `a reason that comes once is retried or reported, as its disposition says`(reason: APNsReason)
        async throws
    {
        let stand = try SimulatorStand(script(#""reason":"\#(reason.rawValue)""#, times: 1))
        stand.pusher.push(1..<2, profile: stand.profile)
        let outcome = try await stand.pusher.outcome(of: 1)
        let requests = stand.requests(of: 1)
        #expect(stand.pusher.ends(of: 1) == [.answered])
        switch reason.disposition {
        case .connectionUnusable, .tooManyProviderTokens, .providerTokenExpired:
            #expect(outcome.disposition == .accepted, "\(outcome)")
            #expect(Set(requests.map(\.connection)).count == 2, "it was sent again over another connection")
            #expect(requests.count == 2)
        default:
            #expect(outcome.disposition == reason.disposition && outcome.details?.response.reason == reason)
            #expect(outcome.status == reason.status && requests.count == 1)
        }
        // No reason makes a second provider token, not even an expired one: the first is younger than 20 minutes.
        #expect(stand.pusher.metrics.render().contains("flotilla_apns_provider_tokens_total 1"))
    }

    @Test(arguments: [APNsReason.idleTimeout, .shutdown, .unrelatedKeyID])
    func `a push whose connections all end is reported after a limited number of them`(reason: APNsReason)
        async throws
    {
        let stand = try SimulatorStand(script(#""reason":"\#(reason.rawValue)""#, times: 100))
        stand.pusher.push(1..<2, profile: stand.profile)
        let outcome = try await stand.pusher.outcome(of: 1)
        #expect(outcome.disposition == .connectionUnusable && outcome.details?.response.reason == reason)
        let connections = stand.requests(of: 1).map(\.connection)
        #expect(connections.count == PoolSettings().connectionSwitchesMax + 1)
        #expect(Set(connections).count == connections.count, "each attempt used another connection")
    }

    @Test func `an old expired token is replaced, and its connection is kept`() async throws {
        // The provider token is 30 minutes old, so it may be replaced.
        let stand = try SimulatorStand(
            script(#""reason":"ExpiredProviderToken""#, times: 1), tokenAgeSeconds: 1_800)
        stand.pusher.push(1..<2, profile: stand.profile)
        #expect(try await stand.pusher.outcome(of: 1).disposition == .accepted)
        let requests = stand.requests(of: 1)
        #expect(requests.count == 2 && Set(requests.map(\.connection)).count == 1)
        #expect(stand.pusher.metrics.render().contains("flotilla_apns_provider_tokens_total 2"))
    }

    @Test func `after too many token updates no token is made, whatever answers follow`() async throws {
        let tokens = (UInt64(1)...3).map { String(decoding: Hex.encode(Pusher.token($0)), as: UTF8.self) }
        let rules = zip(
            tokens, ["ExpiredProviderToken", "TooManyProviderTokenUpdates", "ExpiredProviderToken"]
        ).map { #"{"match":{"tokens":["\#($0)"],"times":1},"answer":{"reason":"\#($1)"}}"# }
        let stand = try SimulatorStand(
            #"{"rules":[\#(rules.joined(separator: ","))]}"#, tokenAgeSeconds: 1_800)
        for tag in UInt64(1)...3 {
            stand.pusher.push(tag..<tag + 1, profile: stand.profile)
            #expect(try await stand.pusher.outcome(of: tag).disposition == .accepted)
        }
        #expect(stand.pusher.metrics.render().contains("flotilla_apns_provider_tokens_total 2"))
    }

    // MARK: Unknown reasons

    @Test(arguments: [
        (400, ResponseDisposition.requestFaulty), (403, .appMisconfigured), (404, .requestFaulty),
        (405, .requestFaulty), (410, .requestFaulty), (413, .requestFaulty), (418, .requestFaulty),
        (429, .tokenThrottled), (500, .serverTrouble), (502, .serverTrouble), (503, .serverTrouble),
        (599, .serverTrouble),
    ])
    func `an unknown reason is judged by its status and never costs a token`(
        status: Int, disposition: ResponseDisposition
    ) async throws {
        let stand = try SimulatorStand(
            script(#""status":\#(status),"reason":"BrandNewReason","timestamp":1763600000123"#, times: 1))
        stand.pusher.push(1..<2, profile: stand.profile)
        let outcome = try await stand.pusher.outcome(of: 1)
        #expect(outcome.status == status && outcome.disposition == disposition)
        #expect(
            outcome.details?.response.reasonText == "BrandNewReason"
                && outcome.details?.response.reason == nil)
        #expect(![ResponseDisposition.tokenGone, .tokenSuspect].contains(disposition))
        #expect(stand.requests(of: 1).count == 1)
    }
}
