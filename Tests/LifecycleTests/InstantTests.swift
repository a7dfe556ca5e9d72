import Lifecycle
import Testing

/// The arithmetic of points of the steady clock.
@Suite struct InstantTests {
    @Test(arguments: [(0, 0), (1, 100), (99, 100), (100, 100), (101, 200)])
    func `an instant is rounded up to the next step`(milliseconds: Int, rounded: Int) {
        let start = Instant(nanoseconds: 0)
        let instant = start.advanced(byMilliseconds: milliseconds)
        #expect(instant.roundedUp(toMilliseconds: 100) == start.advanced(byMilliseconds: rounded))
        #expect(instant.roundedUp(toMilliseconds: 0) == instant)
    }

    @Test func `an instant beyond the range becomes the end of the range`() {
        let start = Instant(nanoseconds: 0)
        #expect(start.advanced(byMilliseconds: .max) == .distantFuture)
        #expect(start.advanced(byMilliseconds: .min) == Instant(nanoseconds: .min))
        #expect(Instant.distantFuture.advanced(byMilliseconds: 1) == .distantFuture)
        #expect(Instant.distantFuture.roundedUp(toMilliseconds: 100) == .distantFuture)
    }
}
