import Lifecycle
import Testing

@testable import Sender

/// Tests of the breaker of one app, which opens if a setting of the app seems wrong, and of the counts of unproven
/// tokens, which must not open it.
@Suite struct BreakerTests {
    /// Returns a time in milliseconds after the start of the test.
    private func at(_ milliseconds: Int) -> Instant {
        Instant(nanoseconds: 0).advanced(byMilliseconds: 10_000 + milliseconds)
    }

    @Test func `one wrong token among ten does not open the breaker`() {
        var breaker = Breaker()
        for milliseconds in 0..<1_000 {
            for _ in 0..<9 { breaker.countGoodAnswer(at: at(milliseconds)) }
            let opens = breaker.countRefusedToken(
                of: UInt64(milliseconds), because: "BadDeviceToken", at: at(milliseconds))
            #expect(!opens)
        }
    }

    @Test func `a burst of wrong tokens opens the breaker once`() {
        var breaker = Breaker()
        let opens = (0..<30).map {
            breaker.countRefusedToken(of: UInt64($0), because: "BadDeviceToken", at: at($0))
        }
        #expect(opens.firstIndex(of: true) == Breaker.refusedRecipientsMin - 1)
        #expect(breaker.isOpen)
        #expect(opens.filter { $0 }.count == 1, "an open breaker opened again")
    }

    @Test func `wrong tokens of a few recipients do not open the breaker, in any window`() {
        var breaker = Breaker()
        for milliseconds in 0..<5_000 {
            let recipient = UInt64(milliseconds % (Breaker.refusedRecipientsMin - 1))
            let opens = breaker.countRefusedToken(
                of: recipient, because: "BadDeviceToken", at: at(milliseconds))
            #expect(!opens, "\(Breaker.refusedRecipientsMin - 1) recipients opened the breaker")
        }
    }

    @Test func `a recipient that was refused in both windows still counts when the older window is over`() {
        var breaker = Breaker()
        let half = Breaker.refusedRecipientsMin / 2
        func refuse(_ recipients: Range<Int>, at milliseconds: Int) -> [Bool] {
            recipients.map {
                breaker.countRefusedToken(of: UInt64($0), because: "BadDeviceToken", at: at(milliseconds))
            }
        }
        let earlierRefusals = refuse(0..<half, at: 0) + refuse(0..<half, at: 1_000)
        #expect(!earlierRefusals.contains(true), "\(half) recipients opened the breaker")
        let laterRefusals = refuse(half..<Breaker.refusedRecipientsMin, at: 2_000)
        #expect(laterRefusals.last == true)
    }

    @Test func `unproven tokens do not become suspect before enough of them were refused`() {
        var unproven = UnprovenTokens()
        for milliseconds in 0..<100 {
            unproven.accepted(at: at(milliseconds))
            let begins = unproven.refused(at: at(milliseconds))
            #expect(!begins || milliseconds >= UnprovenTokens.refusedMin - 1)
        }
    }

    @Test func `refusals make unproven tokens suspect once, and for a limited time`() {
        var attacked = UnprovenTokens()
        let begins = (0..<30).map { attacked.refused(at: at($0)) }
        #expect(begins.firstIndex(of: true) == UnprovenTokens.refusedMin - 1)
        #expect(begins.filter { $0 }.count == 1, "the suspicion began twice")
        #expect(attacked.areSuspect(at: at(30)))
        #expect(!attacked.areSuspect(at: at(30 + UnprovenTokens.suspicionMilliseconds)))
    }

    @Test func `when most unproven tokens are accepted again, they are no longer suspect`() {
        var attacked = UnprovenTokens()
        for milliseconds in 0..<30 { _ = attacked.refused(at: at(milliseconds)) }
        #expect(attacked.areSuspect(at: at(30)))
        // One acceptance more than refusals.
        for milliseconds in 30..<61 { attacked.accepted(at: at(milliseconds)) }
        #expect(!attacked.areSuspect(at: at(61)))
    }

    @Test func `one push probes the setting and closes the breaker`() {
        var breaker = Breaker()
        for milliseconds in 0..<3 {
            _ = breaker.countMisconfigured(because: "InvalidProviderToken", at: at(milliseconds))
        }
        #expect(breaker.isOpen)
        #expect(!breaker.isProbeDue(at: at(100)))
        #expect(breaker.isProbeDue(at: at(5_100)))

        breaker.beginProbe()
        #expect(!breaker.isProbeDue(at: at(5_200)), "a second probe left beside the first")
        let closesAfterFailure = breaker.endProbe(as: .tryAgainAfterPause, at: at(5_300))
        #expect(!closesAfterFailure)

        let isDueAgain = breaker.isProbeDue(at: at(10_400))
        #expect(isDueAgain)
        breaker.beginProbe()
        let closesAfterSuccess = breaker.endProbe(as: .passed, at: at(10_500))
        #expect(closesAfterSuccess)
        #expect(!breaker.isOpen)
    }

    @Test func `late refusals of older pushes do not end a probe`() {
        var breaker = Breaker()
        func refuse(at milliseconds: Int) {
            for _ in 0..<Breaker.misconfiguredAnswersMin {
                _ = breaker.countMisconfigured(because: "InvalidProviderToken", at: at(milliseconds))
            }
        }
        refuse(at: 0)
        breaker.beginProbe()
        refuse(at: 5_200)
        #expect(!breaker.isProbeDue(at: at(60_000)), "a second probe left beside the first")
        let closes = breaker.endProbe(as: .passed, at: at(60_000))
        #expect(closes, "the good answer of the probe was ignored")
    }
}
