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

    @Test func `a burst of wrong tokens opens the breaker, and one among many does not`() {
        var breaker = Breaker()
        for milliseconds in 0..<1_000 {
            for _ in 0..<9 { breaker.countGoodAnswer(at: at(milliseconds)) }
            let opens = breaker.countRefusedToken(
                of: UInt64(milliseconds), because: "BadDeviceToken", at: at(milliseconds))
            #expect(!opens, "one wrong token among ten opened the breaker")
        }
        var breakerWithBurst = Breaker()
        let opens = (0..<30).map {
            breakerWithBurst.countRefusedToken(of: UInt64($0), because: "BadDeviceToken", at: at($0))
        }
        #expect(opens.firstIndex(of: true) == Breaker.refusedRecipientsMin - 1)
        #expect(breakerWithBurst.isOpen)
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

    @Test func `most unproven tokens must be refused to be suspect, and acceptance ends it`() {
        var unproven = UnprovenTokens()
        for milliseconds in 0..<100 {
            unproven.accepted(at: at(milliseconds))
            let begins = unproven.refused(at: at(milliseconds))
            #expect(!begins || milliseconds >= UnprovenTokens.refusedMin - 1)
        }
        var attacked = UnprovenTokens()
        let begins = (0..<30).map { attacked.refused(at: at($0)) }
        #expect(begins.firstIndex(of: true) == UnprovenTokens.refusedMin - 1)
        #expect(begins.filter { $0 }.count == 1, "the suspicion began twice")
        #expect(attacked.areSuspect(at: at(30)))
        #expect(!attacked.areSuspect(at: at(30 + UnprovenTokens.suspicionMilliseconds)))
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
