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
    private let beliefMilliseconds: Int
    /// The cluster's time less the steady clock, in milliseconds: the greatest of this window and of the one before.
    private var recent: Int64?
    private var older: Int64?
    private var turnedAt: Instant
    /// The stamps that are ahead of the known time and not believed yet.
    private var ahead: AheadStamps?
    /// The stamps by which the known time leads the machine's clock, until they have lasted.
    private var leading: AheadStamps?
    /// The time by the stamps that have led the machine's clock for long enough, less the steady clock.
    private var proven: Int64?
    /// Whether nothing is known but stamps that lead the machine's clock.
    private var isFirstDoubted = false
    /// Upper bound of the cluster's time less the steady clock, from a record that was surely young.
    private var most: Int64?
    private var machine: MachineClock?

    /// - Parameters:
    ///   - settleMilliseconds: how long the sources are watched before anything is `surelyPast`.
    ///   - beliefMilliseconds: how long a step has to last until it is believed.
    package init(
        now: Instant, settleMilliseconds: Int = ClusterClock.settleMilliseconds,
        beliefMilliseconds: Int = ClusterClock.settleMilliseconds
    ) {
        startedAt = now
        turnedAt = now
        self.settleMilliseconds = settleMilliseconds
        self.beliefMilliseconds = beliefMilliseconds
    }

    // MARK: Observations

    /// Looks at the machine's clock, once per turn.
    ///
    /// - Parameter time: milliseconds since 1970.
    /// - Returns: whether the clock has stepped.
    @discardableResult
    package mutating func tick(machine time: Int64, at now: Instant) -> Bool {
        if machine == nil {
            machine = MachineClock(time: time, at: now, beliefMilliseconds: beliefMilliseconds)
        }
        let isStep = machine?.tick(time: time, at: now) == true
        if isStep { (leading, proven) = (nil, nil) }
        trustMachine()
        return isStep
    }

    /// Notes that there is a record with this stamp.
    ///
    /// - Parameter stamp: milliseconds since 1970.
    package mutating func saw(_ stamp: Int64, at now: Instant) {
        guard Self.stamps.contains(stamp) else { return }
        let offset = stamp - now.milliseconds
        // The broker's clock was set, so the upper bound is of an earlier time.
        if let most, offset > most { self.most = nil }
        guard believes(offset, at: now) else { return }
        turnWindow(before: offset, at: now)
        recent = max(recent ?? offset, offset)
    }

    /// Notes that there is a record with this stamp that was written at most `age` milliseconds ago.
    package mutating func saw(_ stamp: Int64, writtenWithin age: Int64, at now: Instant) {
        guard Self.stamps.contains(stamp) else { return }
        most = nil
        saw(stamp, at: now)
        most = stamp - now.milliseconds + age
    }

    /// Notes a time that is written in a record, and that was a stamp once. A time ahead of the machine's clock is cut off.
    package mutating func sawRecorded(_ time: Int64, at now: Instant) {
        guard let machine else { return }
        saw(min(time, machine.lower + now.milliseconds), at: now)
    }

    private mutating func believes(_ offset: Int64, at now: Instant) -> Bool {
        guard let known else {
            isFirstDoubted = machine != nil && isAheadOfMachine(offset)
            if isFirstDoubted { leading = AheadStamps(offset, at: now) }
            return true
        }
        if offset > known + Self.stepMilliseconds, isAheadOfMachine(offset) {
            let hasLasted = AheadStamps.note(offset, at: now, in: &ahead, for: beliefMilliseconds)
            if hasLasted { forgetStamps(at: now, proven: offset) }
            return hasLasted
        }
        let isCurrent = offset >= known - Self.stepMilliseconds
        // A stamp of the time as it is known speaks against those that are ahead; an old one says nothing.
        if isCurrent { ahead = nil }
        if isAheadOfMachine(offset) {
            if isCurrent { lead(offset, at: now) }
        } else if let machine, offset >= machine.lower - Self.stepMilliseconds {
            // This stamp agrees with the machine's clock.
            if isFirstDoubted { forgetStamps(at: now, proven: nil) }
            (leading, proven) = (nil, nil)
        }
        return true
    }

    /// The time by the stamps is proven when it has led the machine's clock for long enough.
    private mutating func lead(_ offset: Int64, at now: Instant) {
        if let known = proven {
            proven = max(known, offset)
        } else if AheadStamps.note(offset, at: now, in: &leading, for: beliefMilliseconds) {
            (proven, leading, isFirstDoubted) = (offset, nil, false)
        }
    }

    private mutating func forgetStamps(at now: Instant, proven: Int64?) {
        (recent, older, turnedAt) = (nil, nil, now)
        (ahead, leading, isFirstDoubted) = (nil, nil, false)
        self.proven = proven
    }

    private func isAheadOfMachine(_ offset: Int64) -> Bool {
        machine.map { offset > $0.lower + Self.stepMilliseconds } ?? true
    }

    private mutating func turnWindow(before offset: Int64, at now: Instant) {
        let age = now.milliseconds(since: turnedAt)
        guard age >= Self.windowMilliseconds else { return }
        // A long silence does not make the time unknown: the steady clock goes on. A new stamp then corrects its drift.
        let isSilent = age >= 2 * Self.windowMilliseconds
        let corrects = isSilent && known.map { offset >= $0 - Self.stepMilliseconds } ?? false
        older = corrects ? nil : recent ?? older
        recent = nil
        turnedAt = now
    }

    private var known: Int64? { [recent, older].compactMap(\.self).max() }

    /// A step of the machine's clock to the time that the stamps tell is believed at once: two sources agree.
    private mutating func trustMachine() {
        guard let known, machine?.isDoubtful == true, let last = machine?.last,
            abs(last - known) <= Self.stepMilliseconds
        else { return }
        machine?.trust()
        (leading, proven, isFirstDoubted) = (nil, nil, false)
    }

    // MARK: The time

    /// The time by the stamps; nil before the first one.
    package func time(at now: Instant) -> WallTime? {
        known.map { WallTime(milliseconds: $0 + now.milliseconds) }
    }

    /// The time to decide by, in milliseconds since 1970: the machine's, unless the stamps do not confirm it. Then it is
    /// the time by the stamps. Nil before the first observation.
    package func decisionTime(at now: Instant) -> Int64? {
        guard let machine else { return known.map { $0 + now.milliseconds } }
        guard let known, !isFirstDoubted else { return machine.lower + now.milliseconds }
        return max(isMachineConfirmed ? min(machine.lower, most ?? .max) : known, known) + now.milliseconds
    }

    /// Whether the stamps confirm the machine's clock: they do not lead it, and they are not far behind it.
    package var isMachineConfirmed: Bool {
        !isFirstDoubted && !isUnconfirmed
    }

    /// The time for acts that are due at a moment, in milliseconds since 1970: the time by the stamps, which is never ahead
    /// of the cluster's. Stamps that are ahead of the machine's clock and not proven are not believed. Nil before the
    /// first stamp.
    package func dueTime(at now: Instant) -> Int64? {
        guard let known else { return nil }
        guard let machine, isUnproven(known) else { return known + now.milliseconds }
        return machine.lower + now.milliseconds
    }

    /// Whether the time by the stamps leads the machine's clock and has not done so for long enough.
    private func isUnproven(_ known: Int64) -> Bool {
        guard isAheadOfMachine(known) else { return false }
        return proven.map { known > $0 + Self.stepMilliseconds } ?? true
    }

    /// Whether a clock has stepped, or leads another one, and this has not lasted yet.
    package var isDoubtful: Bool {
        ahead != nil || machine?.isDoubtful == true || machine != nil && known.map(isUnproven) == true
    }

    /// A time that has passed for sure, for irreversible acts: the lower of the sources. Nil until both were
    /// watched for a minute, so that no act rests on one source alone.
    package func surelyPast(at now: Instant) -> Int64? {
        guard let known, let machine, now.milliseconds(since: startedAt) >= settleMilliseconds
        else { return nil }
        return (isUnconfirmed ? known : min(machine.lower, most ?? .max)) + now.milliseconds
    }

    /// An upper bound of the time, for what must not end too early.
    package func latest(at now: Instant) -> Int64 {
        [known, machine?.upper].compactMap(\.self).max().map { $0 + now.milliseconds } ?? .max
    }

    /// Whether the stamps are so far behind the machine's clock that they do not confirm it.
    package var isUnconfirmed: Bool {
        guard let known, let machine else { return true }
        return machine.lower - known > Self.toleranceMilliseconds
    }

    /// The milliseconds by which the machine's clock is surely ahead of the cluster's. Below zero, it is behind the stamps.
    /// Zero if the clocks may agree.
    package var machineAheadMilliseconds: Int64 {
        guard let own = machine?.last else { return 0 }
        if let most, own > most { return own - most }
        return min(0, own - ([known, ahead?.offset].compactMap(\.self).max() ?? own))
    }

    /// The difference between the sources in milliseconds, if it is larger than a step and an operator should look at
    /// the clocks; else 0.
    package var doubtMilliseconds: Int64 {
        guard let known, let machine else { return 0 }
        let difference = max(machine.upper - known, known - machine.lower)
        if ahead != nil || machine.isDoubtful { return max(difference, Self.stepMilliseconds) }
        return known - machine.lower > Self.stepMilliseconds ? difference : 0
    }
}

/// Stamps that are ahead of the known time. They are believed when they have lasted. A record that is read again confirms
/// nothing, because its stamp falls behind the steady clock.
private struct AheadStamps {
    let since: Instant
    private(set) var offset: Int64

    init(_ offset: Int64, at now: Instant) {
        since = now
        self.offset = offset
    }

    /// Returns whether stamps have been ahead for the time.
    static func note(
        _ offset: Int64, at now: Instant, in stamps: inout AheadStamps?, for milliseconds: Int
    ) -> Bool {
        guard var known = stamps else {
            stamps = AheadStamps(offset, at: now)
            return milliseconds <= 0
        }
        guard offset >= known.offset - ClusterClock.stepMilliseconds else { return false }
        known.offset = max(known.offset, offset)
        stamps = known
        return now.milliseconds(since: known.since) >= milliseconds
    }
}
