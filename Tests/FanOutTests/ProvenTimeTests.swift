import Lifecycle
import Testing

@testable import FanOut

@Suite struct ProvenTimeTests {
    private let hour: Int64 = 3_600_000
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test func `nothing is known before the cluster has shown something`() {
        let time = ProvenTime()
        #expect(time.time(by: 1000, at: at(0)) == nil)
        #expect(!time.proves(1000, at: at(0)))
        #expect(time.latest(by: 1000, at: at(0)) == 1000)
    }

    @Test func `a clock that is ahead is not believed, one that is behind is put right`() {
        var time = ProvenTime()
        time.saw(100 * hour, at: at(0))
        #expect(time.time(by: 101 * hour, at: at(10)) == 100 * hour + 10)
        #expect(!time.proves(101 * hour, at: at(10)))
        #expect(time.time(by: 99 * hour, at: at(10)) == 100 * hour + 10)
        #expect(time.latest(by: 99 * hour, at: at(10)) == 100 * hour + 10)
        #expect(time.latest(by: 101 * hour, at: at(10)) == 101 * hour, "a start may be as young")
    }

    @Test func `a clock is believed when something as young was seen, and stays so`() {
        var time = ProvenTime()
        time.saw(95 * hour, at: at(0))
        #expect(time.time(by: 100 * hour, at: at(0)) == 95 * hour, "perhaps nobody wrote for hours")
        time.saw(100 * hour - ProvenTime.toleranceMilliseconds, at: at(0))
        #expect(time.time(by: 100 * hour, at: at(0)) == 100 * hour)
        #expect(time.time(by: 110 * hour, at: at(10 * hour)) == 110 * hour)
        time.saw(50 * hour, at: at(10 * hour))
        #expect(time.proves(110 * hour, at: at(10 * hour)), "what is old says nothing")
    }
}
