import Testing

@testable import FanOut

/// Proves how long a batch waits so that the next one gathers more records.
struct GatheringTests {
    @Test func `after few records the next batch does not wait`() {
        #expect(Gathering.pauseMilliseconds(after: Gathering.recordsMin - 1, taking: 10) == 0)
    }

    @Test func `after many records the next batch begins after three times the duration, within a limit`() {
        #expect(Gathering.pauseMilliseconds(after: Gathering.recordsMin, taking: 10) == 20)
        #expect(Gathering.pauseMilliseconds(after: 5000, taking: 50) == 70)
    }

    @Test func `a batch that took long enough causes no wait`() {
        #expect(Gathering.pauseMilliseconds(after: 5000, taking: 500) == 0)
    }
}
