import Ingest
import Lifecycle
import Testing

/// Tests of `ClockWait`: reports of a broker whose clock seems to be ahead of the machine's wait for a time, because
/// one of the two clocks may be wrong. The differences are an hour or more, and a minute is tolerated.
struct ClockWaitTests {
    private static let minute = 60_000
    /// The time for decisions at the beginning, in milliseconds since 1970.
    private static let start: Int64 = 1_795_204_800_000

    /// Returns a steady time in milliseconds after the beginning.
    private func at(_ milliseconds: Int) -> Instant { Instant(nanoseconds: Int64(milliseconds) * 1_000_000) }

    /// A wait, and clocks that advance with steady time. A batch may come from a broker whose clock is ahead.
    private struct Clocks {
        var wait = ClockWait()
        var isMachineConfirmed = true
        /// The milliseconds by which the machine was set.
        var correction: Int64 = 0
    }

    /// Returns whether a batch must wait.
    ///
    /// - Parameters:
    ///   - ahead: The milliseconds by which the batch's newest stamp is ahead of the machine's time.
    ///   - milliseconds: The time after the beginning.
    private func mustWait(_ clocks: inout Clocks, ahead: Int64, at milliseconds: Int) -> Bool {
        let time = Self.start + Int64(milliseconds) + clocks.correction
        clocks.wait.update(decisionTime: time, at: at(milliseconds))
        return clocks.wait.mustWait(
            newestStamp: time + ahead, decisionTime: time, isMachineConfirmed: clocks.isMachineConfirmed,
            at: at(milliseconds))
    }

    @Test func `reports of a broker whose clock is ahead wait for ten minutes, and then no more`() {
        var clocks = Clocks()
        for second in stride(from: 0, to: 600, by: 5) {
            #expect(mustWait(&clocks, ahead: 3_600_000, at: second * 1000) == true, "\(second) s")
            #expect(clocks.wait.isWaiting && clocks.wait.nextCheck == at(second * 1000 + 5000))
            // Batches without such reports are merged in between, and do not end the wait.
            #expect(mustWait(&clocks, ahead: 0, at: second * 1000 + 1) == false)
        }
        for minute in 10..<60 {
            #expect(mustWait(&clocks, ahead: 3_600_000, at: minute * Self.minute) == false, "\(minute) min")
        }
    }

    @Test func `a second difference within ten minutes has a wait of its full length`() {
        var clocks = Clocks()
        #expect(mustWait(&clocks, ahead: 3_600_000, at: 0) == true)
        #expect(mustWait(&clocks, ahead: 3_600_000, at: Self.minute) == true)
        // An operator sets the clock of the machine, which was behind.
        clocks.correction = 3_600_000
        #expect(mustWait(&clocks, ahead: 0, at: 2 * Self.minute) == false)
        // Another clock goes wrong.
        #expect(mustWait(&clocks, ahead: 7_200_000, at: 9 * Self.minute) == true)
        #expect(mustWait(&clocks, ahead: 7_200_000, at: 18 * Self.minute) == true)
        #expect(mustWait(&clocks, ahead: 7_200_000, at: 19 * Self.minute) == false)
    }

    @Test func `a difference that was not seen for more than ten minutes is over`() {
        var clocks = Clocks()
        #expect(mustWait(&clocks, ahead: 3_600_000, at: 0) == true)
        #expect(mustWait(&clocks, ahead: 3_600_000, at: 10 * Self.minute + 1) == true)
        #expect(mustWait(&clocks, ahead: 3_600_000, at: 20 * Self.minute) == true)
    }

    @Test func `reports wait without a limit while the machine's own clock may be wrong`() {
        var clocks = Clocks(isMachineConfirmed: false)
        for minute in 0..<100 {
            #expect(mustWait(&clocks, ahead: 3_600_000, at: minute * Self.minute) == true)
        }
        #expect(mustWait(&clocks, ahead: 60_000, at: 100 * Self.minute) == false, "it is tolerated")
        #expect(!clocks.wait.isWaiting)
    }
}
