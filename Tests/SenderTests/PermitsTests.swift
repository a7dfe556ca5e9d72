import Testing

@testable import Sender

/// Tests of the permits of a process. A permit is the right to one push without a stored outcome, so their number
/// limits the pushes that a crash can duplicate.
@Suite struct PermitsTests {
    @Test func `one app leaves some permits to others`() {
        var permits = Permits(limit: 1_000)
        #expect(permits.free == Permits.firstMax, "all permits are free before the first receipt is stored")
        permits.liftFirstLimit()
        // An app that is alone may take all permits. Otherwise a fifth is left to the other apps.
        #expect(permits.available(holding: 0, isAlone: true) == 1_000)
        #expect(permits.available(holding: 0, isAlone: false) == 800)
    }
}
