import Testing

@testable import Sender

/// Tests of the permits of a process. A permit is the right to one push without a stored outcome, so their number
/// limits the pushes that a crash can duplicate.
@Suite struct PermitsTests {
    @Test func `before the first record is stored there are only a few permits`() {
        var permits = Permits(limit: 1_000)
        #expect(permits.free == Permits.firstMax)
        permits.liftFirstLimit()
        #expect(permits.free == 1_000)
    }

    @Test func `an app that is alone may take all permits, and otherwise leaves a fifth to other apps`() {
        var permits = Permits(limit: 1_000)
        permits.liftFirstLimit()
        #expect(permits.available(holding: 0, isAlone: true) == 1_000)
        #expect(permits.available(holding: 0, isAlone: false) == 800)
    }
}
