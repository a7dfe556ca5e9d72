internal import Lifecycle
internal import Telemetry

/// The wall clock for acts that cannot be undone: expiry of records, offsets, producers and
/// transactional ids.
///
/// When the machine's clock jumps ahead, this clock continues at the pace of the steady clock, until the
/// jump has lasted for `settleMilliseconds`. So a clock that is wrong for some seconds deletes nothing. A
/// jump back counts at once, because it only delays a deletion. The time is stored across starts, so a
/// start in the middle of a jump does not follow the wrong clock either.
struct ExpiryClock: Equatable {
    /// If the machine's clock is ahead by at most this, the expiry clock follows it slowly, without a doubt.
    static let toleranceMilliseconds: Int64 = 60_000
    /// Time in which a person can see the alarm and correct the clock.
    static let settleMilliseconds = 3_600_000
    /// A broker can be down for this time without a doubt about the clock at its start.
    static let downtimeMilliseconds: Int64 = 86_400_000
    /// To follow a small lead, the expiry clock runs faster by a tenth of the passed time.
    private static let slewDivisor: Int64 = 10

    private struct ClockDoubt: Equatable {
        var since: Instant
        /// The lead when the doubt began. If the lead changes, the clock jumped again, and a new doubt
        /// begins.
        var leadMilliseconds: Int64
    }

    /// The time of this clock.
    private(set) var time: WallTime
    /// The steady clock at the last observation.
    private var observedAt: Instant
    private var doubt: ClockDoubt?
    /// The lead of the machine's clock while it is in doubt, else 0.
    private(set) var leadMilliseconds: Int64 = 0

    /// The part that a process stores for the next one.
    struct SavedClock: Equatable {
        var time: WallTime
        var isInDoubt: Bool
    }

    var saved: SavedClock { SavedClock(time: time, isInDoubt: isInDoubt) }

    init(saved: SavedClock?, wall: WallTime, at steady: Instant) {
        time = wall
        observedAt = steady
        guard let saved else { return }
        let downtime = wall.milliseconds - saved.time.milliseconds
        guard saved.isInDoubt || downtime > Self.downtimeMilliseconds else { return }
        time = saved.time
        observe(wall: wall, at: steady)
    }

    var isInDoubt: Bool { doubt != nil }

    /// Advances the time. `wall` and `steady` are the machine's clocks now.
    mutating func observe(wall: WallTime, at steady: Instant) {
        let elapsed = Int64(max(0, steady.milliseconds(since: observedAt)))
        observedAt = steady
        let expected = time.milliseconds + elapsed
        let lead = wall.milliseconds - expected
        guard lead > Self.toleranceMilliseconds else {
            doubt = nil
            leadMilliseconds = 0
            let fastest = expected + elapsed / Self.slewDivisor
            time = WallTime(milliseconds: min(wall.milliseconds, fastest))
            return
        }
        let currentDoubt = updatedDoubt(lead: lead, at: steady)
        let isSettled = steady.milliseconds(since: currentDoubt.since) >= Self.settleMilliseconds
        doubt = isSettled ? nil : currentDoubt
        leadMilliseconds = isSettled ? 0 : lead
        time = isSettled ? wall : WallTime(milliseconds: expected)
    }

    /// Returns the doubt about a lead: the current one, or a new one if the clock has jumped again.
    private func updatedDoubt(lead: Int64, at steady: Instant) -> ClockDoubt {
        if let doubt, abs(lead - doubt.leadMilliseconds) <= Self.toleranceMilliseconds { return doubt }
        return ClockDoubt(since: steady, leadMilliseconds: lead)
    }
}
