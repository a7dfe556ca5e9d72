package import Lifecycle

/// The clock for timers. It is the cluster's time, as far as the timestamps of its records prove it. The
/// orders got their times from the same clock. It is never ahead of the cluster, and a few milliseconds
/// behind it.
///
/// After a jump of the machine's clock or the cluster's clock, firing is held until the new time has lasted
/// for a while. A fired timer is deleted, so a clock that is set back cannot fire it twice.
package struct FiringClock {
    /// The smallest difference to the steady clock that is a jump, in milliseconds.
    package static let jumpMilliseconds: Int64 = 5000
    /// The time without firing after a jump.
    package static let holdMilliseconds = 30_000
    /// The time for which a stamp counts. After it the steady clock may have run faster than the cluster's.
    package static let windowMilliseconds = 60_000
    /// The age at which the newest stamp is stale and the loop asks for the time.
    package static let freshMilliseconds = 10_000
    /// The range of stamps that allow arithmetic without overflow.
    private static let stamps: ClosedRange<Int64> = 0...1 << 53

    private let holdMilliseconds: Int

    /// A lower bound of the cluster's time minus the steady clock, from the current window and from the one
    /// before.
    private var current: Int64?
    private var previous: Int64?
    private var windowBegan: Instant?
    private var sawAt: Instant?
    /// This machine's time minus the steady clock.
    private var machine: Int64?
    private var heldUntil: Instant?
    /// A cluster time that is ahead of this clock and of the machine, and is not confirmed yet.
    private var doubt: (since: Instant, last: Instant)?

    package init(holdMilliseconds: Int = FiringClock.holdMilliseconds) {
        self.holdMilliseconds = holdMilliseconds
    }

    /// Returns milliseconds since 1970. Returns nil if the time is unknown or firing is held.
    package func time(at now: Instant) -> Int64? { isHeld(at: now) ? nil : estimate(at: now) }

    package func isHeld(at now: Instant) -> Bool { doubt != nil || heldUntil.map { now < $0 } == true }

    /// Whether the newest stamp is too old to rely on.
    package func isStale(at now: Instant) -> Bool {
        sawAt.map { now.milliseconds(since: $0) >= Self.freshMilliseconds } ?? true
    }

    /// Returns the estimated time, also while firing is held.
    private func estimate(at now: Instant) -> Int64? {
        guard let difference = [current, previous].compactMap({ $0 }).max() else { return nil }
        return difference + Self.steady(now)
    }

    /// Compares the machine's clock with the steady clock. The loop calls it in each iteration.
    ///
    /// - Parameter wall: this machine's time, in milliseconds since 1970.
    /// - Returns: whether the machine's clock has jumped.
    @discardableResult
    package mutating func tick(wall: Int64, at now: Instant) -> Bool {
        let difference = wall - Self.steady(now)
        defer { machine = difference }
        if let doubt, now.milliseconds(since: doubt.last) >= holdMilliseconds { self.doubt = nil }
        guard let machine, abs(difference - machine) > Self.jumpMilliseconds else { return false }
        // If the cluster runs on this machine, its clock has jumped, too. So earlier stamps prove nothing any
        // more.
        self = FiringClock(holdMilliseconds: holdMilliseconds)
        heldUntil = now.advanced(byMilliseconds: holdMilliseconds)
        return true
    }

    /// Takes the stamp of a record that the cluster has written.
    package mutating func saw(_ stamp: Int64, wall: Int64, at now: Instant) {
        guard Self.stamps.contains(stamp) else { return }
        let isAhead = estimate(at: now).map { stamp > $0 + Self.jumpMilliseconds } ?? true
        if isAhead, stamp > wall + Self.jumpMilliseconds {
            let since = doubt?.since ?? now
            doubt = (since, now)
            guard now.milliseconds(since: since) >= holdMilliseconds else { return }
        }
        // An old record, with a stamp that is not ahead, does not end a doubt.
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
