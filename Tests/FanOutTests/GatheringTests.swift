import Lifecycle
import Testing

@testable import FanOut

struct GatheringTests {
    private let began = Instant.now()

    private func left(after records: Int, taking milliseconds: Int, at later: Int) -> Int {
        var gathering = Gathering()
        gathering.took(records, from: began, to: began.advanced(byMilliseconds: milliseconds))
        return gathering.millisecondsLeft(at: began.advanced(byMilliseconds: later))
    }

    @Test func `after few records the next batch does not wait`() {
        #expect(left(after: Gathering.recordsMin - 1, taking: 10, at: 10) == 0)
        #expect(Gathering().millisecondsLeft(at: began) == 0)
    }

    @Test func `after many records the next batch begins after three times the duration, within a limit`() {
        #expect(left(after: Gathering.recordsMin, taking: 10, at: 10) == 20)
        #expect(left(after: 5000, taking: 50, at: 50) == 70)
    }

    @Test func `a batch that took long enough causes no wait`() {
        #expect(left(after: 5000, taking: 500, at: 500) == 0)
    }

    @Test func `a small batch after a large one causes only one wait`() {
        var gathering = Gathering()
        gathering.took(5000, from: began, to: began.advanced(byMilliseconds: 10))
        gathering.took(1, from: began, to: began.advanced(byMilliseconds: 10))
        #expect(gathering.millisecondsLeft(at: began) == 0)
    }
}
