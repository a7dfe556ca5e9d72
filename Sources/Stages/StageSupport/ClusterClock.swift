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
    private let confirmationMilliseconds: Int
    /// The cluster's time less the steady clock, in milliseconds: the greatest of this window and of the one before.
    private var recentOffset: Int64?
    private var olderOffset: Int64?
    private var windowStartedAt: Instant
    /// The stamps that are ahead of the known time and not believed yet.
    private var stampsAheadOfKnown: AheadStamps?
    /// The stamps by which the known time leads the machine's clock, until they have lasted.
    private var stampsAheadOfMachine: AheadStamps?
    /// The time by the stamps that have led the machine's clock for long enough, less the steady clock.
    private var provenOffset: Int64?
    /// Whether nothing is known but stamps that lead the machine's clock.
    private var knowsOnlyStampsAheadOfMachine = false
    /// Upper bound of the cluster's time less the steady clock, from a record that was surely young.
    private var offsetMax: Int64?
    private var machineClock: MachineClock?

    /// - Parameters:
    ///   - settleMilliseconds: how long the sources are watched before `earliestTime` says anything.
    ///   - beliefMilliseconds: how long a step has to last until it is believed.
    package init(
        now: Instant, settleMilliseconds: Int = ClusterClock.settleMilliseconds,
        confirmationMilliseconds: Int = ClusterClock.settleMilliseconds
    ) {
        startedAt = now
        windowStartedAt = now
        self.settleMilliseconds = settleMilliseconds
        self.confirmationMilliseconds = confirmationMilliseconds
    }

    // MARK: Observations

    /// Looks at the machine's clock, once per turn.
    ///
    /// - Parameter time: milliseconds since 1970.
    /// - Returns: whether the clock has stepped.
    @discardableResult
    package mutating func observe(machineTime time: Int64, at now: Instant) -> Bool {
        if machineClock == nil {
            machineClock = MachineClock(
                time: time, at: now, confirmationMilliseconds: confirmationMilliseconds)
        }
        let isStep = machineClock?.observe(time: time, at: now) == true
        if isStep { (stampsAheadOfMachine, provenOffset) = (nil, nil) }
        trustMachineIfConfirmed()
        return isStep
    }

    /// Notes that there is a record with this stamp.
    ///
    /// - Parameter stamp: milliseconds since 1970.
    package mutating func observe(stamp: Int64, at now: Instant) {
        guard Self.stamps.contains(stamp) else { return }
        let offset = stamp - now.milliseconds
        // The broker's clock was set, so the upper bound is of an earlier time.
        if let offsetMax, offset > offsetMax { self.offsetMax = nil }
        guard accept(offset: offset, at: now) else { return }
        advanceWindow(before: offset, at: now)
        recentOffset = max(recentOffset ?? offset, offset)
    }

    /// Notes that there is a record with this stamp that was written at most `age` milliseconds ago.
    package mutating func observe(stamp: Int64, writtenWithin age: Int64, at now: Instant) {
        guard Self.stamps.contains(stamp) else { return }
        offsetMax = nil
        observe(stamp: stamp, at: now)
        offsetMax = stamp - now.milliseconds + age
    }

    /// Notes a time that is written in a record, and that was a stamp once. A time ahead of the machine's clock is cut off.
    package mutating func observe(recordedTime time: Int64, at now: Instant) {
        guard let machineClock else { return }
        observe(stamp: min(time, machineClock.lowerOffset + now.milliseconds), at: now)
    }

    private mutating func accept(offset: Int64, at now: Instant) -> Bool {
        guard let knownOffset else {
            knowsOnlyStampsAheadOfMachine = machineClock != nil && isAheadOfMachine(offset: offset)
            if knowsOnlyStampsAheadOfMachine { stampsAheadOfMachine = AheadStamps(offset: offset, at: now) }
            return true
        }
        if offset > knownOffset + Self.stepMilliseconds, isAheadOfMachine(offset: offset) {
            let hasLasted = AheadStamps.record(
                offset: offset, at: now, in: &stampsAheadOfKnown,
                lastingMilliseconds: confirmationMilliseconds)
            if hasLasted { resetStamps(at: now, proven: offset) }
            return hasLasted
        }
        let isCurrent = offset >= knownOffset - Self.stepMilliseconds
        // A stamp of the time as it is known speaks against those that are ahead; an old one says nothing.
        if isCurrent { stampsAheadOfKnown = nil }
        if isAheadOfMachine(offset: offset) {
            if isCurrent { recordLead(of: offset, at: now) }
        } else if let machineClock, offset >= machineClock.lowerOffset - Self.stepMilliseconds {
            // This stamp agrees with the machine's clock.
            if knowsOnlyStampsAheadOfMachine { resetStamps(at: now, proven: nil) }
            (stampsAheadOfMachine, provenOffset) = (nil, nil)
        }
        return true
    }

    /// The time by the stamps is proven when it has led the machine's clock for long enough.
    private mutating func recordLead(of offset: Int64, at now: Instant) {
        if let known = provenOffset {
            provenOffset = max(known, offset)
        } else if AheadStamps.record(
            offset: offset, at: now, in: &stampsAheadOfMachine, lastingMilliseconds: confirmationMilliseconds)
        {
            (provenOffset, stampsAheadOfMachine, knowsOnlyStampsAheadOfMachine) = (offset, nil, false)
        }
    }

    private mutating func resetStamps(at now: Instant, proven: Int64?) {
        (recentOffset, olderOffset, windowStartedAt) = (nil, nil, now)
        (stampsAheadOfKnown, stampsAheadOfMachine, knowsOnlyStampsAheadOfMachine) = (nil, nil, false)
        self.provenOffset = proven
    }

    private func isAheadOfMachine(offset: Int64) -> Bool {
        machineClock.map { offset > $0.lowerOffset + Self.stepMilliseconds } ?? true
    }

    private mutating func advanceWindow(before offset: Int64, at now: Instant) {
        let age = now.milliseconds(since: windowStartedAt)
        guard age >= Self.windowMilliseconds else { return }
        // A long silence does not make the time unknown: the steady clock goes on. A new stamp then corrects its drift.
        let isSilent = age >= 2 * Self.windowMilliseconds
        let corrects = isSilent && knownOffset.map { offset >= $0 - Self.stepMilliseconds } ?? false
        olderOffset = corrects ? nil : recentOffset ?? olderOffset
        recentOffset = nil
        windowStartedAt = now
    }

    private var knownOffset: Int64? { [recentOffset, olderOffset].compactMap(\.self).max() }

    /// A step of the machine's clock to the time that the stamps tell is believed at once: two sources agree.
    private mutating func trustMachineIfConfirmed() {
        guard let knownOffset, machineClock?.isDoubtful == true, let last = machineClock?.lastOffset,
            abs(last - knownOffset) <= Self.stepMilliseconds
        else { return }
        machineClock?.trust()
        (stampsAheadOfMachine, provenOffset, knowsOnlyStampsAheadOfMachine) = (nil, nil, false)
    }

    // MARK: The time

    /// The time by the stamps; nil before the first one.
    package func time(at now: Instant) -> WallTime? {
        knownOffset.map { WallTime(milliseconds: $0 + now.milliseconds) }
    }

    /// The time to decide by, in milliseconds since 1970: the machine's, unless the stamps do not confirm it. Then it is
    /// the time by the stamps. Nil before the first observation.
    package func decisionTime(at now: Instant) -> Int64? {
        guard let machineClock else { return knownOffset.map { $0 + now.milliseconds } }
        guard let knownOffset, !knowsOnlyStampsAheadOfMachine else {
            return machineClock.lowerOffset + now.milliseconds
        }
        return max(
            isMachineConfirmed ? min(machineClock.lowerOffset, offsetMax ?? .max) : knownOffset, knownOffset)
            + now.milliseconds
    }

    /// Whether the stamps confirm the machine's clock: they do not lead it, and they are not far behind it.
    package var isMachineConfirmed: Bool {
        !knowsOnlyStampsAheadOfMachine && !lacksConfirmingStamps
    }

    /// The time for acts that are due at a moment, in milliseconds since 1970: the time by the stamps, which is never ahead
    /// of the cluster's. Stamps that are ahead of the machine's clock and not proven are not believed. Nil before the
    /// first stamp.
    package func dueTime(at now: Instant) -> Int64? {
        guard let knownOffset else { return nil }
        guard let machineClock, isUnproven(offset: knownOffset) else { return knownOffset + now.milliseconds }
        return machineClock.lowerOffset + now.milliseconds
    }

    /// Whether the time by the stamps leads the machine's clock and has not done so for long enough.
    private func isUnproven(offset known: Int64) -> Bool {
        guard isAheadOfMachine(offset: known) else { return false }
        return provenOffset.map { known > $0 + Self.stepMilliseconds } ?? true
    }

    /// Whether a clock has stepped, or leads another one, and this has not lasted yet.
    package var isDoubtful: Bool {
        stampsAheadOfKnown != nil || machineClock?.isDoubtful == true
            || machineClock != nil && knownOffset.map(isUnproven) == true
    }

    /// A time that has passed for sure, for irreversible acts: the lower of the sources. Nil until both were
    /// watched for a minute, so that no act rests on one source alone.
    package func earliestTime(at now: Instant) -> Int64? {
        guard let knownOffset, let machineClock, now.milliseconds(since: startedAt) >= settleMilliseconds
        else { return nil }
        return (lacksConfirmingStamps ? knownOffset : min(machineClock.lowerOffset, offsetMax ?? .max))
            + now.milliseconds
    }

    /// An upper bound of the time, for what must not end too early.
    package func latestTime(at now: Instant) -> Int64 {
        [knownOffset, machineClock?.upperOffset].compactMap(\.self).max().map { $0 + now.milliseconds }
            ?? .max
    }

    /// Whether the stamps are so far behind the machine's clock that they do not confirm it.
    package var lacksConfirmingStamps: Bool {
        guard let knownOffset, let machineClock else { return true }
        return machineClock.lowerOffset - knownOffset > Self.toleranceMilliseconds
    }

    /// The milliseconds by which the machine's clock is surely ahead of the cluster's. Below zero, it is behind the stamps.
    /// Zero if the clocks may agree.
    package var machineAheadMilliseconds: Int64 {
        guard let own = machineClock?.lastOffset else { return 0 }
        if let offsetMax, own > offsetMax { return own - offsetMax }
        return min(0, own - ([knownOffset, stampsAheadOfKnown?.offset].compactMap(\.self).max() ?? own))
    }

    /// The difference between the sources in milliseconds, if it is larger than a step and an operator should look at
    /// the clocks; else 0.
    package var doubtMilliseconds: Int64 {
        guard let knownOffset, let machineClock else { return 0 }
        let difference = max(machineClock.upperOffset - knownOffset, knownOffset - machineClock.lowerOffset)
        if stampsAheadOfKnown != nil || machineClock.isDoubtful {
            return max(difference, Self.stepMilliseconds)
        }
        return knownOffset - machineClock.lowerOffset > Self.stepMilliseconds ? difference : 0
    }
}

/// Stamps that are ahead of the known time. They are believed when they have lasted. A record that is read again confirms
/// nothing, because its stamp falls behind the steady clock.
private struct AheadStamps {
    let since: Instant
    private(set) var offset: Int64

    init(offset: Int64, at now: Instant) {
        since = now
        self.offset = offset
    }

    /// Returns whether stamps have been ahead for the time.
    static func record(
        offset: Int64, at now: Instant, in stamps: inout AheadStamps?, lastingMilliseconds milliseconds: Int
    ) -> Bool {
        guard var known = stamps else {
            stamps = AheadStamps(offset: offset, at: now)
            return milliseconds <= 0
        }
        guard offset >= known.offset - ClusterClock.stepMilliseconds else { return false }
        known.offset = max(known.offset, offset)
        stamps = known
        return now.milliseconds(since: known.since) >= milliseconds
    }
}
