package import Lifecycle

/// What time it is for timers: the cluster's, as far as the stamps on its records prove it. The same clock gave
/// the orders their times. It is never ahead of the cluster, and a few milliseconds behind it.
///
/// A clock that jumps, this machine's or the cluster's, is not believed at once: firing is held until the new
/// time has stood for a while. What has fired is gone, so that nothing fires twice by a clock that was set back.
package struct FiringClock {
    /// Milliseconds; a larger step against the steady clock is a jump.
    package static let jumpMilliseconds: Int64 = 5000
    /// How long firing is held after a jump.
    package static let holdMilliseconds = 30_000
    /// For so long a stamp counts: the steady clock may run a little faster than the cluster's.
    package static let windowMilliseconds = 60_000
    /// A proof that is older is asked for anew.
    package static let freshMilliseconds = 10_000
    /// What can be counted with.
    private static let stamps: ClosedRange<Int64> = 0...1 << 53

    private let holdMilliseconds: Int

    /// The cluster's time less the steady clock, at least: in this window, and in the one before it.
    private var current: Int64?
    private var previous: Int64?
    private var windowBegan: Instant?
    private var sawAt: Instant?
    /// This machine's time less the steady clock.
    private var machine: Int64?
    private var heldUntil: Instant?
    /// The cluster says what neither it nor this machine has said before.
    private var doubt: (since: Instant, last: Instant)?

    package init(holdMilliseconds: Int = FiringClock.holdMilliseconds) {
        self.holdMilliseconds = holdMilliseconds
    }

    /// Milliseconds since 1970; nil while nothing is known, or firing is held.
    package func time(at now: Instant) -> Int64? { isHeld(at: now) ? nil : estimate(at: now) }

    package func isHeld(at now: Instant) -> Bool { doubt != nil || heldUntil.map { now < $0 } == true }

    /// The newest stamp is too old to rest on.
    package func isStale(at now: Instant) -> Bool {
        sawAt.map { now.milliseconds(since: $0) >= Self.freshMilliseconds } ?? true
    }

    /// Also while firing is held.
    private func estimate(at now: Instant) -> Int64? {
        guard let difference = [current, previous].compactMap({ $0 }).max() else { return nil }
        return difference + Self.steady(now)
    }

    /// Once a turn.
    ///
    /// - Parameter wall: this machine's time, in milliseconds since 1970.
    /// - Returns: whether that has jumped.
    @discardableResult
    package mutating func tick(wall: Int64, at now: Instant) -> Bool {
        let difference = wall - Self.steady(now)
        defer { machine = difference }
        if let doubt, now.milliseconds(since: doubt.last) >= holdMilliseconds { self.doubt = nil }
        guard let machine, abs(difference - machine) > Self.jumpMilliseconds else { return false }
        // On one machine the cluster's clock has jumped, too: what it said before says nothing any more.
        self = FiringClock(holdMilliseconds: holdMilliseconds)
        heldUntil = now.advanced(byMilliseconds: holdMilliseconds)
        return true
    }

    /// The cluster has written a record with this stamp.
    package mutating func saw(_ stamp: Int64, wall: Int64, at now: Instant) {
        guard Self.stamps.contains(stamp) else { return }
        let isAhead = estimate(at: now).map { stamp > $0 + Self.jumpMilliseconds } ?? true
        if isAhead, stamp > wall + Self.jumpMilliseconds {
            let since = doubt?.since ?? now
            doubt = (since, now)
            guard now.milliseconds(since: since) >= holdMilliseconds else { return }
        }
        // A record of long ago says nothing against a doubt.
        if isAhead { doubt = nil }
        renew(stamp - Self.steady(now), at: now)
    }

    private mutating func renew(_ difference: Int64, at now: Instant) {
        if let began = windowBegan, now.milliseconds(since: began) < Self.windowMilliseconds {
            current = max(current ?? difference, difference)
        } else {
            let isNext =
                windowBegan.map { now.milliseconds(since: $0) < 2 * Self.windowMilliseconds } ?? false
            previous = isNext ? current : nil
            current = difference
            windowBegan = now
        }
        sawAt = now
    }

    private static func steady(_ now: Instant) -> Int64 { now.nanoseconds / 1_000_000 }
}
