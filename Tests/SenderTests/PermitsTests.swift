import Testing

@testable import Sender

/// The permits of a process, which limit the pushes that a crash can duplicate.
@Suite struct PermitsTests {
    @Test func `one app leaves some permits to others`() {
        var permits = Permits(limit: 1_000)
        #expect(permits.free == Permits.firstMax, "all permits are free before the first receipt is stored")
        permits.liftFirstLimit()
        #expect(permits.available(holding: 0, isAlone: true) == 1_000)
        #expect(permits.available(holding: 0, isAlone: false) == 800)
    }
}
