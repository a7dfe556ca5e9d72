import APNs
import Identifiers
import Jobs
import Payloads
import Sends
import Testing

@testable import Sender

/// Tests of the decisions of `RetryRule`: whether a job is pushed again after an answer of APNs, when, and from where.
@Suite struct RetryRuleTests {
    private func decision(
        after answer: PushAnswer, event: PushEvent = .update, tries: Int = 1, triesHere: Int = 1,
        pausesHere: Int = 0
    ) -> RetryDecision {
        let history = PushHistory(tries: tries, triesHere: triesHere, pausesHere: pausesHere)
        return decision(after: answer, event: event, history: history)
    }

    private func decision(
        after answer: PushAnswer, event: PushEvent = .update, history: PushHistory
    ) -> RetryDecision {
        RetryRule.decision(after: answer, of: head(of: event), history: history)
    }

    private func head(of event: PushEvent) -> SheetHead {
        SheetHead(
            topic: "t", priority: .immediate, expiration: 0, app: "shop", environment: .production, send: "s",
            group: "g", scope: .group, generation: 0, version: 5, event: event, deadline: 10, acceptedAt: 0)
    }

    @Test(arguments: APNsReason.allCases)
    func `every reason of APNs has a decision`(reason: APNsReason) {
        let answer = PushAnswer(answered: reason.disposition, status: reason.status, reason: reason.rawValue)
        let expected: RetryDecision =
            switch reason.disposition {
            case .accepted: .accepted
            case .tokenGone: .rejected(isDead: true)
            case .tokenSuspect: .retryInTier(.seconds5, countsAsTry: true)
            case .tokenThrottled, .serverTrouble: .retryInTier(.seconds5, countsAsTry: true)
            case .connectionUnusable: .retryHere(afterMilliseconds: 300, countsAsTry: true)
            case .requestFaulty: .deadLetter(code: "request_faulty")
            case .channelGone, .channelLimit: .deadLetter(code: "channel_gone")
            case .appMisconfigured, .providerTokenExpired, .tooManyProviderTokens:
                .retryInTier(.minutes2, countsAsTry: false)
            }
        #expect(decision(after: answer) == expected)
    }

    @Test func `a start of unknown outcome is not sent again, but an update is`() {
        let unknown = PushAnswer(.unknown(.connectionLost))
        #expect(decision(after: unknown, event: .start) == .unknown)
        #expect(decision(after: unknown) == .retryHere(afterMilliseconds: 300, countsAsTry: true))
        #expect(decision(after: unknown, triesHere: 2) == .retryInTier(.seconds5, countsAsTry: true))
    }

    @Test func `a push that APNs did not process does not use up tries`() {
        let refused = PushAnswer(.notProcessed(.refused))
        #expect(decision(after: refused, tries: 99) == .retryHere(afterMilliseconds: 100, countsAsTry: false))
        // The pauses after such pushes use up no try either.
        let unknown = PushAnswer(.unknown(.connectionLost))
        #expect(
            decision(after: unknown, pausesHere: 9) == .retryHere(afterMilliseconds: 300, countsAsTry: true))
    }

    @Test func `a job without tries left becomes a dead letter`() {
        let answer = PushAnswer(answered: .serverTrouble, status: 503)
        #expect(decision(after: answer, tries: 3) == .retryInTier(.minutes2, countsAsTry: true))
        let triesMax = head(of: .update).triesMax
        #expect(decision(after: answer, tries: triesMax) == .deadLetter(code: "attempts_exhausted"))
    }

    /// Decides after a refusal of a token.
    ///
    /// - Parameters:
    ///   - tier: The tier in which the job waited after an earlier refusal, or nil if this is the first refusal.
    ///   - acceptedMilliseconds: The time since another push of the app was accepted. It lies within the wait in the
    ///     tier if it is shorter than the wait (5 s or 120 s).
    private func decisionAfterRefusal(
        tierAfterRefusal tier: LaterTier?, acceptedMilliseconds: Int?, isBreakerOpen: Bool = false
    ) -> RetryDecision {
        var history = PushHistory(tries: 2)
        (history.tierAfterRefusal, history.millisecondsSinceAccepted) = (tier, acceptedMilliseconds)
        history.isBreakerOpen = isBreakerOpen
        return decision(
            after: PushAnswer(answered: .tokenSuspect, status: 400, reason: "BadDeviceToken"),
            history: history)
    }

    @Test func `after its first refusal a token is tried again from the short tier`() {
        #expect(
            decisionAfterRefusal(tierAfterRefusal: nil, acceptedMilliseconds: 0)
                == .retryInTier(.seconds5, countsAsTry: true))
    }

    @Test func `a token that is refused again is dead if another push was accepted during its wait`() {
        #expect(
            decisionAfterRefusal(tierAfterRefusal: .seconds5, acceptedMilliseconds: 3_000)
                == .rejected(isDead: true))
        #expect(
            decisionAfterRefusal(tierAfterRefusal: .minutes2, acceptedMilliseconds: 60_000)
                == .rejected(isDead: true))
    }

    @Test func `a token that is refused again is not dead if no push was accepted during its wait`() {
        #expect(
            decisionAfterRefusal(tierAfterRefusal: .seconds5, acceptedMilliseconds: 6_000)
                == .retryInTier(.minutes2, countsAsTry: true))
        #expect(
            decisionAfterRefusal(tierAfterRefusal: .minutes2, acceptedMilliseconds: nil)
                == .rejected(isDead: false))
    }

    @Test func `while the breaker is open, a refusal says nothing about the token`() {
        #expect(
            decisionAfterRefusal(tierAfterRefusal: .seconds5, acceptedMilliseconds: 0, isBreakerOpen: true)
                == .retryInTier(.minutes2, countsAsTry: false))
    }

    @Test func `a token that is refused repeatedly in the short tier uses up its tries`() {
        let answer = PushAnswer(answered: .tokenSuspect, status: 400, reason: "BadDeviceToken")
        var history = PushHistory(tries: head(of: .update).triesMax - 1, tierAfterRefusal: .seconds5)
        #expect(decision(after: answer, history: history) == .retryInTier(.minutes2, countsAsTry: true))
        history.tries += 1
        #expect(decision(after: answer, history: history) == .rejected(isDead: false))
    }

    @Test(arguments: [
        (300, LaterTier.minutes2, LaterTier?.some(.minutes2)), (300, .seconds5, .seconds5),
        (60, .minutes2, .seconds5), (60, .seconds5, .seconds5), (3, .minutes2, nil),
    ])
    func `near its deadline a job waits in the longest tier that still fits`(
        secondsToDeadline: Int, tier: LaterTier, expected: LaterTier?
    ) {
        let time = CurrentTime.testStart
        let deadline = time.unixMilliseconds / 1000 + Int64(secondsToDeadline)
        #expect(tier.shortenedToEnd(before: deadline, at: time) == expected)
    }
}
