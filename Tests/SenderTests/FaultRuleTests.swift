import APNs
import Identifiers
import Jobs
import Lifecycle
import Payloads
import Sends
import Testing

@testable import Sender

private func head(_ event: PushEvent, scope: ScopeKind = .group, version: Int64 = 5) -> SheetHead {
    SheetHead(
        topic: "t", priority: .immediate, expiration: 0, app: "shop", environment: .production, send: "s",
        group: "g",
        scope: scope, generation: 0, version: version, event: event, deadline: 10, acceptedAt: 0)
}

private func decision(
    _ answer: PushAnswer, _ event: PushEvent = .update, tries: Int = 1, repeats: Int = 0
) -> RetryDecision {
    RetryRule.decision(
        after: answer, of: head(event), history: PushHistory(tries: tries, repeats: repeats))
}

private func decision(after answer: PushAnswer, _ history: PushHistory) -> RetryDecision {
    RetryRule.decision(after: answer, of: head(.update), history: history)
}

@Suite struct RetryRuleTests {
    @Test(arguments: APNsReason.allCases)
    func `every reason of APNs has a decision`(reason: APNsReason) {
        let answer = PushAnswer(answered: reason.disposition, status: reason.status, reason: reason.rawValue)
        let expected: RetryDecision =
            switch reason.disposition {
            case .accepted: .accepted
            case .tokenGone: .rejected(isDead: true)
            case .tokenSuspect: .retryInTier(.seconds5, countsAsTry: true)
            case .tokenThrottled, .serverTrouble: .retryInTier(.seconds5, countsAsTry: true)
            case .connectionUnusable: .retryHere(afterMilliseconds: 300)
            case .requestFaulty: .deadLetter(code: "request_faulty")
            case .channelGone, .channelLimit: .deadLetter(code: "channel_gone")
            case .appMisconfigured, .providerTokenExpired, .tooManyProviderTokens:
                .retryInTier(.minutes2, countsAsTry: false)
            }
        #expect(decision(answer) == expected)
    }

    @Test func `a start of unknown outcome is not sent again, but an update is`() {
        #expect(decision(PushAnswer(.unknown(.connectionLost)), .start) == .unknown)
        #expect(decision(PushAnswer(.unknown(.connectionLost))) == .retryHere(afterMilliseconds: 300))
        #expect(
            decision(PushAnswer(.unknown(.connectionLost)), repeats: 1)
                == .retryInTier(.seconds5, countsAsTry: true))
    }

    @Test func `a push that APNs did not process does not use up tries`() {
        #expect(
            decision(PushAnswer(.notProcessed(.refused)), tries: 99) == .retryHere(afterMilliseconds: 100))
    }

    @Test func `a job without tries left becomes a dead letter`() {
        let answer = PushAnswer(answered: .serverTrouble, status: 503)
        #expect(decision(answer, tries: 3) == .retryInTier(.minutes2, countsAsTry: true))
        #expect(decision(answer, tries: 6) == .deadLetter(code: "attempts_exhausted"))
    }

    @Test func `a wrong token is dead if others were accepted between two refusals`() {
        let answer = PushAnswer(answered: .tokenSuspect, status: 400, reason: "BadDeviceToken")
        func decided(in tier: LaterTier?, accepted: Int?, isOpen: Bool = false) -> RetryDecision {
            var known = PushHistory(tries: 2)
            (known.refusedBefore, known.millisecondsSinceAccepted) = (tier, accepted)
            known.isBreakerOpen = isOpen
            return decision(after: answer, known)
        }
        #expect(decided(in: nil, accepted: 0) == .retryInTier(.seconds5, countsAsTry: true))
        #expect(decided(in: .seconds5, accepted: 3_000) == .rejected(isDead: true))
        #expect(decided(in: .seconds5, accepted: 6_000) == .retryInTier(.minutes2, countsAsTry: true))
        #expect(decided(in: .minutes2, accepted: 60_000) == .rejected(isDead: true))
        #expect(decided(in: .minutes2, accepted: nil) == .rejected(isDead: false))
        #expect(
            decided(in: .seconds5, accepted: 0, isOpen: true) == .retryInTier(.minutes2, countsAsTry: false))
    }

    @Test func `a token that is refused repeatedly in the short tier uses up its tries`() {
        let answer = PushAnswer(answered: .tokenSuspect, status: 400, reason: "BadDeviceToken")
        var known = PushHistory(tries: head(.update).attemptsMax - 1, refusedBefore: .seconds5)
        #expect(decision(after: answer, known) == .retryInTier(.minutes2, countsAsTry: true))
        known.tries += 1
        #expect(decision(after: answer, known) == .rejected(isDead: false))
    }

    @Test(arguments: [
        (300, LaterTier.minutes2, LaterTier?.some(.minutes2)), (300, .seconds5, .seconds5),
        (60, .minutes2, .seconds5), (60, .seconds5, .seconds5), (3, .minutes2, nil),
    ])
    func `near its deadline a job waits in the longest tier that still fits`(
        seconds: Int, wanted: LaterTier, expected: LaterTier?
    ) {
        let time = CurrentTime(now: Instant(nanoseconds: 0), unixMilliseconds: 1_763_600_000_000)
        #expect(wanted.longest(before: time.unixMilliseconds / 1000 + Int64(seconds), at: time) == expected)
    }
}

@Suite struct BreakerTests {
    private func at(_ milliseconds: Int) -> Instant {
        Instant(nanoseconds: 0).advanced(byMilliseconds: 10_000 + milliseconds)
    }

    @Test func `a burst of wrong tokens opens the breaker, and one among many does not`() {
        var breaker = Breaker()
        for step in 0..<1_000 {
            breaker.accepted(9, at: at(step))
            let opens = breaker.wrongToken(of: UInt64(step), because: "BadDeviceToken", at: at(step))
            #expect(!opens)
        }
        var other = Breaker()
        let opened = (0..<30).map {
            other.wrongToken(of: UInt64($0), because: "BadDeviceToken", at: at($0))
        }
        #expect(opened.firstIndex(of: true) == Breaker.refusedRecipientsMin - 1 && other.isOpen)
        #expect(opened.filter { $0 }.count == 1)
    }

    @Test func `wrong tokens of a few recipients do not open the breaker, in any window`() {
        var breaker = Breaker()
        for step in 0..<5_000 {
            let recipient = UInt64(step % (Breaker.refusedRecipientsMin - 1))
            let opens = breaker.wrongToken(of: recipient, because: "BadDeviceToken", at: at(step))
            #expect(!opens)
        }
    }

    @Test func `most unproven tokens must be refused to be suspect, and acceptance ends it`() {
        var unproven = UnprovenTokens()
        for step in 0..<100 {
            unproven.accepted(at: at(step))
            let begins = unproven.refused(at: at(step))
            #expect(!begins || step >= UnprovenTokens.refusedMin - 1)
        }
        var attacked = UnprovenTokens()
        let began = (0..<30).map { attacked.refused(at: at($0)) }
        #expect(began.firstIndex(of: true) == UnprovenTokens.refusedMin - 1)
        #expect(began.filter { $0 }.count == 1 && attacked.areSuspect(at: at(30)))
        #expect(!attacked.areSuspect(at: at(30 + UnprovenTokens.suspicionMilliseconds)))
        for step in 30..<61 { attacked.accepted(at: at(step)) }
        #expect(!attacked.areSuspect(at: at(61)))
    }

    @Test func `one push probes the setting and closes the breaker`() {
        var breaker = Breaker()
        for step in 0..<3 { _ = breaker.misconfigured(because: "InvalidProviderToken", at: at(step)) }
        #expect(breaker.isOpen)
        #expect(!breaker.isProbeDue(at: at(100)) && breaker.isProbeDue(at: at(5_100)))
        breaker.beginProbe()
        #expect(!breaker.isProbeDue(at: at(5_200)))
        let isStillWrong = breaker.endProbe(isMended: false, at: at(5_300))
        let again = breaker.isProbeDue(at: at(10_400))
        breaker.beginProbe()
        let isMended = breaker.endProbe(isMended: true, at: at(10_500))
        #expect(!isStillWrong && again && isMended && !breaker.isOpen)
    }
}

@Suite struct SupersededTests {
    private func view(update: Int64, end: Int64, cancelled: [String] = []) -> NewestGroupVersions {
        var view = NewestGroupVersions(seed: 1)
        _ = view.merge(
            SupersededVersions(
                app: "shop", group: "g", updateVersion: update, endVersion: end, cancelledSends: cancelled))
        return view
    }

    private func staleness(_ head: SheetHead, in view: NewestGroupVersions) -> Staleness? {
        view.staleness(of: head, group: view.fingerprint(app: "shop", group: "g"))
    }

    @Test func `a newer update drops an update, only an END drops a start, and nothing drops an END`() {
        let newer = view(update: 6, end: 0)
        #expect(staleness(head(.update), in: newer) == .newer)
        #expect(staleness(head(.update, version: 6), in: newer) == nil)
        #expect(staleness(head(.start), in: newer) == nil)
        #expect(staleness(head(.start), in: view(update: 0, end: 6)) == .ended)
        #expect(staleness(head(.end), in: view(update: 9, end: 9)) == nil)
        #expect(staleness(head(.update, scope: .recipient), in: newer) == nil)
    }

    @Test func `a cancelled send is dropped, and a send without conflation is kept`() {
        #expect(staleness(head(.start), in: view(update: 0, end: 0, cancelled: ["s"])) == .cancelled)
        var kept = head(.update)
        kept.isConflatable = false
        #expect(staleness(kept, in: view(update: 6, end: 0)) == nil)
    }
}

@Suite struct CommitMetadataTests {
    @Test func `commit metadata reads back, and a damaged one does not`() {
        for metadata in [
            CommitMetadata(receiptsFrom: 42, window: 1_000),
            CommitMetadata(receiptsFrom: 0, window: 4, endedAt: 57),
        ] {
            #expect(CommitMetadata(text: metadata.text) == metadata)
        }
        for text in [
            "", "2 1 1", "1 1", "1 x 1", "1 -1 4", "1 1 9999999999", "1 1 4 x", "1 1 4 -1", "1 1 4 5 6",
        ] {
            #expect(CommitMetadata(text: text) == nil)
        }
    }

    @Test func `one app leaves some permits to others`() {
        var permits = Permits(limit: 1_000)
        #expect(permits.free == Permits.firstMax, "nothing is stored yet")
        permits.liftFirstLimit()
        #expect(permits.available(holding: 0, isAlone: true) == 1_000)
        #expect(permits.available(holding: 0, isAlone: false) == 800)
    }
}
