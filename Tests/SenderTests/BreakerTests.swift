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

    @Test func `refusals of only a few recipients never open the breaker, however many they are`() {
        var breaker = Breaker()
        for milliseconds in 0..<5_000 {
            let recipient = UInt64(milliseconds % (Breaker.refusedRecipientsMin - 1))
            let opens = breaker.countRefusedToken(
                of: recipient, because: "BadDeviceToken", at: at(milliseconds))
            #expect(!opens, "\(Breaker.refusedRecipientsMin - 1) recipients opened the breaker")
        }
    }

    @Test
    func `a recipient that was refused in both halves of the window counts until the later half is over`() {
        var breaker = Breaker()
        let halfOfRecipients = Breaker.refusedRecipientsMin / 2
        func refuse(_ recipients: Range<Int>, at milliseconds: Int) -> [Bool] {
            recipients.map {
                breaker.countRefusedToken(of: UInt64($0), because: "BadDeviceToken", at: at(milliseconds))
            }
        }
        // Halves of the window begin at 0, 1,000 and 2,000 ms.
        let earlierRefusals = refuse(0..<halfOfRecipients, at: 0) + refuse(0..<halfOfRecipients, at: 1_000)
        #expect(!earlierRefusals.contains(true), "\(halfOfRecipients) recipients opened the breaker")
        let laterRefusals = refuse(halfOfRecipients..<Breaker.refusedRecipientsMin, at: 2_000)
        #expect(laterRefusals.last == true)
    }

    @Test func `unproven tokens are not separated before enough of them were refused`() {
        var unproven = UnprovenTokens()
        for milliseconds in 0..<100 {
            unproven.countAccepted(at: at(milliseconds))
            let begins = unproven.countRefused(at: at(milliseconds))
            #expect(!begins || milliseconds >= UnprovenTokens.refusedMin - 1)
        }
    }

    @Test func `refusals separate unproven tokens once, and for a limited time`() {
        var attacked = UnprovenTokens()
        let begins = (0..<30).map { attacked.countRefused(at: at($0)) }
        #expect(begins.firstIndex(of: true) == UnprovenTokens.refusedMin - 1)
        #expect(begins.filter { $0 }.count == 1, "the separation began twice")
        #expect(attacked.areSeparated(at: at(30)))
        #expect(!attacked.areSeparated(at: at(30 + UnprovenTokens.separationMilliseconds)))
    }

    @Test func `when most unproven tokens are accepted again, they are no longer separated`() {
        var attacked = UnprovenTokens()
        for milliseconds in 0..<30 { _ = attacked.countRefused(at: at(milliseconds)) }
        #expect(attacked.areSeparated(at: at(30)))
        // One acceptance more than refusals.
        for milliseconds in 30..<61 { attacked.countAccepted(at: at(milliseconds)) }
        #expect(!attacked.areSeparated(at: at(61)))
    }

    // MARK: Probes

    /// The time between the opening of the breaker and the first probe.
    private static let pause = Breaker.probePauseMilliseconds

    /// Counts as many answers that blame the app's settings as open the breaker.
    private func refuse(_ breaker: inout Breaker, at milliseconds: Int) {
        for _ in 0..<Breaker.misconfiguredAnswersMin {
            _ = breaker.countMisconfigured(because: "InvalidProviderToken", at: at(milliseconds))
        }
    }

    @Test func `after the breaker has opened, the first probe is due after a pause`() {
        var breaker = Breaker()
        refuse(&breaker, at: 0)
        #expect(breaker.isOpen)
        #expect(!breaker.isProbeDue(at: at(Self.pause - 1)))
        #expect(breaker.isProbeDue(at: at(Self.pause)))
    }

    @Test func `after a failed probe, the next one is due after another pause`() {
        var breaker = Breaker()
        refuse(&breaker, at: 0)
        breaker.beginProbe()
        let closes = breaker.endProbe(as: .tryAgainAfterPause, at: at(Self.pause))
        #expect(!closes && breaker.isOpen)
        #expect(!breaker.isProbeDue(at: at(2 * Self.pause - 1)))
        #expect(breaker.isProbeDue(at: at(2 * Self.pause)))
    }

    @Test func `a probe that has passed closes the breaker`() {
        var breaker = Breaker()
        refuse(&breaker, at: 0)
        breaker.beginProbe()
        let closes = breaker.endProbe(as: .passed, at: at(Self.pause))
        #expect(closes && !breaker.isOpen)
    }

    @Test func `no second probe leaves beside the first, and late refusals of older pushes do not end it`() {
        var breaker = Breaker()
        refuse(&breaker, at: 0)
        breaker.beginProbe()
        #expect(!breaker.isProbeDue(at: at(60_000)))
        refuse(&breaker, at: Self.pause)
        #expect(!breaker.isProbeDue(at: at(60_000)))
        let closes = breaker.endProbe(as: .passed, at: at(60_000))
        #expect(closes, "the good answer of the probe was ignored")
    }
}
