package import Lifecycle
package import Telemetry

/// The time of the cluster, as far as this process can know it.
///
/// It has three sources: the stamps of records, the clock of this machine, and the steady time since the first
/// observation. No source alone moves the time forward by more than a step:
///
/// - A stamp can be older than the time, because its record waited. The highest stamps of the last one to two minutes
///   therefore tell the time.
/// - A stamp that is ahead of the time and of the machine's clock is not believed until such stamps have come for a minute,
///   and no other stamp has spoken against them. A broker whose clock steps for some seconds changes nothing.
/// - A step of the machine's clock is not believed until it has lasted for a minute.
package struct ClusterClock: Sendable {
    package static let windowMilliseconds = 60_000
    /// A larger difference between two observations is a step.
    package static let stepMilliseconds: Int64 = 5000
    /// A step is believed when it has lasted for this time.
    package static let settleMilliseconds = 60_000
    /// The machine's clock is believed if it is ahead of the stamps by at most this time.
    package static let toleranceMilliseconds: Int64 = 300_000
    /// The stamps that can be counted with; milliseconds since 1970.
    package static let stamps: ClosedRange<Int64> = 1...1 << 53

    private let startedAt: Instant
    private let settleMilliseconds: Int
    /// The cluster's time less the steady clock, in milliseconds: the greatest of this window and of the one before.
    private var recent: Int64?
    private var older: Int64?
    private var turnedAt: Instant
    /// The first of the stamps that are ahead and not believed.
    private var aheadSince: Instant?
    private var machine: MachineClock?

    /// - Parameter settleMilliseconds: how long the sources are watched before anything is `surelyPast`.
    package init(now: Instant, settleMilliseconds: Int = ClusterClock.settleMilliseconds) {
        startedAt = now
        turnedAt = now
        self.settleMilliseconds = settleMilliseconds
    }

    // MARK: Observations

    /// Looks at the machine's clock, once per turn.
    ///
    /// - Parameter time: milliseconds since 1970.
    package mutating func tick(machine time: Int64, at now: Instant) {
        if machine == nil { machine = MachineClock(time: time, at: now) }
        machine?.tick(time: time, at: now)
    }

    /// Notes that there is a record with this stamp.
    ///
    /// - Parameter stamp: milliseconds since 1970.
    package mutating func saw(_ stamp: Int64, at now: Instant) {
        guard Self.stamps.contains(stamp) else { return }
        let offset = stamp - now.milliseconds
        if isAhead(offset) {
            let since = aheadSince ?? now
            aheadSince = since
            guard now.milliseconds(since: since) >= Self.settleMilliseconds else { return }
            (recent, older, turnedAt) = (nil, nil, now)
        }
        // A stamp of the time as it is known speaks against those that are ahead; an old one says nothing.
        if let known, offset >= known - Self.stepMilliseconds { aheadSince = nil }
        if recent == nil, older == nil { aheadSince = nil }
        turnWindow(at: now)
        recent = max(recent ?? offset, offset)
    }

    /// Notes a time that is written in a record, and that was a stamp once. A time ahead of the machine's clock is cut off.
    package mutating func sawRecorded(_ time: Int64, at now: Instant) {
        guard let machine else { return }
        saw(min(time, machine.lower + now.milliseconds), at: now)
    }

    private func isAhead(_ offset: Int64) -> Bool {
        guard let known, offset > known + Self.stepMilliseconds else { return false }
        return machine.map { offset > $0.lower + Self.stepMilliseconds } ?? true
    }

    private mutating func turnWindow(at now: Instant) {
        let age = now.milliseconds(since: turnedAt)
        guard age >= Self.windowMilliseconds else { return }
        // A long silence does not make the time unknown: the steady clock goes on.
        older = recent ?? older
        recent = nil
        turnedAt = now
    }

    private var known: Int64? { [recent, older].compactMap(\.self).max() }

    // MARK: The time

    /// The time by the stamps; nil before the first one.
    package func time(at now: Instant) -> WallTime? {
        known.map { WallTime(milliseconds: $0 + now.milliseconds) }
    }

    /// The time to decide by, in milliseconds since 1970: the machine's, unless the stamps do not confirm it. Then it is
    /// the time by the stamps. Nil before the first observation.
    package func decisionTime(at now: Instant) -> Int64? {
        guard let machine else { return known.map { $0 + now.milliseconds } }
        guard let known else { return machine.lower + now.milliseconds }
        let isConfirmed = machine.lower - known <= Self.toleranceMilliseconds
        return (isConfirmed ? max(machine.lower, known) : known) + now.milliseconds
    }

    /// A time that has passed for sure, for irreversible acts: the lower of the sources. Nil until both were
    /// watched for a minute, so that no act rests on one source alone.
    package func surelyPast(at now: Instant) -> Int64? {
        guard let known, let machine, now.milliseconds(since: startedAt) >= settleMilliseconds
        else { return nil }
        let isConfirmed = machine.lower - known <= Self.toleranceMilliseconds
        return (isConfirmed ? machine.lower : known) + now.milliseconds
    }

    /// An upper bound of the time, for what must not end too early.
    package func latest(at now: Instant) -> Int64 {
        [known, machine?.upper].compactMap(\.self).max().map { $0 + now.milliseconds } ?? .max
    }

    /// Whether the stamps are so far behind the machine's clock that they do not confirm it.
    package func isUnconfirmed(at now: Instant) -> Bool {
        guard let known, let machine else { return true }
        return machine.lower - known > Self.toleranceMilliseconds
    }

    /// The difference between the sources in milliseconds, if it is larger than a step and an operator should look at
    /// the clocks; else 0.
    package var doubtMilliseconds: Int64 {
        guard let known, let machine else { return 0 }
        let difference = max(machine.upper - known, known - machine.lower)
        if aheadSince != nil || machine.isDoubtful { return max(difference, Self.stepMilliseconds) }
        return known - machine.lower > Self.stepMilliseconds ? difference : 0
    }
}
