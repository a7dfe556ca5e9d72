package import Lifecycle
package import Telemetry

/// The time of the cluster, as far as this process can know it.
///
/// It has three sources: the stamps that brokers write on records, the clock of this machine, and the steady clock,
/// which never jumps. No source alone moves the time forward by more than a step:
///
/// - A stamp can be older than the time, because its record waited. The highest stamps of the last one to two minutes
///   therefore tell the time.
/// - A stamp that is ahead of the time and of the machine's clock is not believed until such stamps have come for a
///   minute, and no other stamp has spoken against them. A broker whose clock steps for some seconds changes nothing.
/// - A step of the machine's clock is not believed until it has lasted for a minute.
///
/// All times are kept as offsets: the time less the steady clock, in milliseconds. A clock that runs evenly has a
/// constant offset.
///
/// Each reading has its purpose:
///
/// | reading | for | source |
/// |---|---|---|
/// | `time` | metrics, and times in records | the stamps |
/// | `decisionTime` | merging, and the age of data | the machine's clock if the stamps confirm it, else the stamps |
/// | `dueTime` | acts that are due at a moment | the stamps that are proven, never ahead of the cluster |
/// | `earliestTime` | irreversible acts | the lower of both sources |
/// | `latestTime` | data that must not end too early | the higher of both sources |
package struct ClusterClock: Sendable {
    /// The highest stamp of a window counts for this window and for the next one.
    package static let windowMilliseconds = 60_000
    /// A larger difference between two observations is a step.
    package static let stepMilliseconds: Int64 = 5000
    /// The usual time for which a step must last until it is believed, and for which both sources are watched before an
    /// irreversible act.
    package static let settleMilliseconds = 60_000
    /// The machine's clock is believed if it is ahead of the stamps by at most this time.
    package static let toleranceMilliseconds: Int64 = 300_000
    /// The stamps that are safe in additions, in milliseconds since 1970. Others are ignored.
    package static let validStamps: ClosedRange<Int64> = 1...1 << 53

    private let startedAt: Instant
    private let settleMilliseconds: Int
    private let confirmationMilliseconds: Int

    // The time by the stamps.

    /// The highest offset of a stamp in this window, and in the one before.
    private var recentOffset: Int64?
    private var olderOffset: Int64?
    private var windowStartedAt: Instant
    /// Upper bound of the offset, from a record that was surely young when it was read.
    private var offsetMax: Int64?

    // Stamps that are ahead.

    /// The stamps that are ahead of the known time and not believed yet.
    private var stampsAheadOfKnown: AheadStamps?
    /// The stamps that are known and ahead of the machine's clock, until they have lasted.
    private var stampsAheadOfMachine: AheadStamps?
    /// The offset by stamps that have been ahead of the machine's clock for long enough.
    private var provenOffset: Int64?
    /// Whether all known stamps are ahead of the machine's clock, so that one source stands against the other.
    private var knowsOnlyStampsAheadOfMachine = false

    /// Nil before its first observation.
    private var machineClock: MachineClock?

    /// - Parameters:
    ///   - settleMilliseconds: the time for which the sources are watched before `earliestTime` returns a time.
    ///   - confirmationMilliseconds: the time for which a step has to last until it is believed.
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

    /// Notes the time of the machine's clock. A loop calls it once per iteration.
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

    /// Notes the stamp of a record of unknown age.
    ///
    /// - Parameter stamp: milliseconds since 1970.
    package mutating func observe(stamp: Int64, at now: Instant) {
        guard Self.validStamps.contains(stamp) else { return }
        let offset = stamp - now.milliseconds
        // The broker's clock was set, so the upper bound is no longer valid.
        if let offsetMax, offset > offsetMax { self.offsetMax = nil }
        guard accept(offset: offset, at: now) else { return }
        advanceWindow(before: offset, at: now)
        recentOffset = max(recentOffset ?? offset, offset)
    }

    /// Notes the stamp of a record that was written at most `age` milliseconds ago.
    package mutating func observe(stamp: Int64, writtenWithin age: Int64, at now: Instant) {
        guard Self.validStamps.contains(stamp) else { return }
        offsetMax = nil
        observe(stamp: stamp, at: now)
        offsetMax = stamp - now.milliseconds + age
    }

    /// Notes a time in the value of a record, which another process took from a stamp. A time ahead of the machine's
    /// clock counts as the machine's time.
    package mutating func observe(recordedTime time: Int64, at now: Instant) {
        guard let machineClock else { return }
        observe(stamp: min(time, machineClock.lowerOffset + now.milliseconds), at: now)
    }

    // MARK: Belief

    /// Decides whether a stamp counts, and notes whether it speaks for or against another source.
    private mutating func accept(offset: Int64, at now: Instant) -> Bool {
        guard let knownOffset else {
            acceptFirst(offset: offset, at: now)
            return true
        }
        let isFarAheadOfKnown = offset > knownOffset + Self.stepMilliseconds
        if isFarAheadOfKnown, isAheadOfMachine(offset: offset) {
            return acceptFarAhead(offset: offset, at: now)
        }
        compareWithMachine(offset: offset, knownOffset: knownOffset, at: now)
        return true
    }

    private mutating func acceptFirst(offset: Int64, at now: Instant) {
        knowsOnlyStampsAheadOfMachine = machineClock != nil && isAheadOfMachine(offset: offset)
        if knowsOnlyStampsAheadOfMachine { stampsAheadOfMachine = AheadStamps(offset: offset, at: now) }
    }

    /// Returns whether stamps that are ahead of both sources have lasted. Then they alone tell the time.
    private mutating func acceptFarAhead(offset: Int64, at now: Instant) -> Bool {
        let hasLasted = AheadStamps.record(
            offset: offset, at: now, in: &stampsAheadOfKnown,
            lastingMilliseconds: confirmationMilliseconds)
        if hasLasted { resetStamps(at: now, proven: offset) }
        return hasLasted
    }

    private mutating func compareWithMachine(offset: Int64, knownOffset: Int64, at now: Instant) {
        let isCurrent = offset >= knownOffset - Self.stepMilliseconds
        // A stamp of the known time speaks against those that are ahead. An older stamp proves nothing.
        if isCurrent { stampsAheadOfKnown = nil }
        if isAheadOfMachine(offset: offset) {
            if isCurrent { recordLead(of: offset, at: now) }
        } else if let machineClock, offset >= machineClock.lowerOffset - Self.stepMilliseconds {
            // This stamp agrees with the machine's clock.
            if knowsOnlyStampsAheadOfMachine { resetStamps(at: now, proven: nil) }
            (stampsAheadOfMachine, provenOffset) = (nil, nil)
        }
    }

    /// Notes a current stamp that is ahead of the machine's clock. Such stamps are proven when they have lasted.
    private mutating func recordLead(of offset: Int64, at now: Instant) {
        if let provenOffset {
            self.provenOffset = max(provenOffset, offset)
        } else if AheadStamps.record(
            offset: offset, at: now, in: &stampsAheadOfMachine, lastingMilliseconds: confirmationMilliseconds)
        {
            (provenOffset, stampsAheadOfMachine, knowsOnlyStampsAheadOfMachine) = (offset, nil, false)
        }
    }

    /// Forgets all stamps. The caller adds the stamp that tells the time from now on.
    private mutating func resetStamps(at now: Instant, proven: Int64?) {
        (recentOffset, olderOffset, windowStartedAt) = (nil, nil, now)
        (stampsAheadOfKnown, stampsAheadOfMachine, knowsOnlyStampsAheadOfMachine) = (nil, nil, false)
        self.provenOffset = proven
    }

    /// Whether a stamp is ahead of the machine's clock by more than a step. An unknown machine's clock confirms no
    /// stamp.
    private func isAheadOfMachine(offset: Int64) -> Bool {
        machineClock.map { offset > $0.lowerOffset + Self.stepMilliseconds } ?? true
    }

    /// Begins a new window if the current one is over.
    private mutating func advanceWindow(before offset: Int64, at now: Instant) {
        let age = now.milliseconds(since: windowStartedAt)
        guard age >= Self.windowMilliseconds else { return }
        // During a long silence the steady clock tells the time. The next current stamp replaces the old offset,
        // because the steady clock has drifted.
        let endsSilence = age >= 2 * Self.windowMilliseconds
        let isCurrent = knownOffset.map { offset >= $0 - Self.stepMilliseconds } ?? false
        olderOffset = endsSilence && isCurrent ? nil : recentOffset ?? olderOffset
        recentOffset = nil
        windowStartedAt = now
    }

    /// The offset by the stamps. Nil before the first one.
    private var knownOffset: Int64? { [recentOffset, olderOffset].compactMap(\.self).max() }

    /// A step of the machine's clock to the time that the stamps tell is believed at once: two sources agree.
    private mutating func trustMachineIfConfirmed() {
        guard let knownOffset, machineClock?.isDoubtful == true, let last = machineClock?.lastOffset,
            abs(last - knownOffset) <= Self.stepMilliseconds
        else { return }
        machineClock?.trust()
        (stampsAheadOfMachine, provenOffset, knowsOnlyStampsAheadOfMachine) = (nil, nil, false)
    }

    // MARK: Readings

    /// Returns the time by the stamps, or nil before the first one.
    package func time(at now: Instant) -> WallTime? {
        knownOffset.map { WallTime(milliseconds: $0 + now.milliseconds) }
    }

    /// Returns the time for decisions, in milliseconds since 1970: the machine's time if the stamps confirm it, else
    /// the time by the stamps. Returns nil before the first observation.
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

    /// Returns the time for acts that are due at a moment, in milliseconds since 1970: the time by the stamps, which is
    /// never ahead of the cluster's. While stamps are ahead of the machine's clock and not proven, it is the machine's
    /// time. Returns nil before the first stamp.
    package func dueTime(at now: Instant) -> Int64? {
        guard let knownOffset else { return nil }
        guard let machineClock, isUnproven(offset: knownOffset) else { return knownOffset + now.milliseconds }
        return machineClock.lowerOffset + now.milliseconds
    }

    /// Whether the time by the stamps is ahead of the machine's clock and has not been so for long enough.
    private func isUnproven(offset: Int64) -> Bool {
        guard isAheadOfMachine(offset: offset) else { return false }
        return provenOffset.map { offset > $0 + Self.stepMilliseconds } ?? true
    }

    /// Whether a clock has stepped, or is ahead of the other one, and this has not lasted yet.
    package var isDoubtful: Bool {
        stampsAheadOfKnown != nil || machineClock?.isDoubtful == true
            || machineClock != nil && knownOffset.map(isUnproven) == true
    }

    /// Returns a time that has surely passed, in milliseconds since 1970: the lower of the sources. Returns nil until
    /// both were watched for `settleMilliseconds`, so that no irreversible act depends on one source alone.
    package func earliestTime(at now: Instant) -> Int64? {
        guard let knownOffset, let machineClock, now.milliseconds(since: startedAt) >= settleMilliseconds
        else { return nil }
        return (lacksConfirmingStamps ? knownOffset : min(machineClock.lowerOffset, offsetMax ?? .max))
            + now.milliseconds
    }

    /// Returns an upper bound of the time, in milliseconds since 1970.
    package func latestTime(at now: Instant) -> Int64 {
        [knownOffset, machineClock?.upperOffset].compactMap(\.self).max().map { $0 + now.milliseconds }
            ?? .max
    }

    /// Whether the stamps are so far behind the machine's clock that they do not confirm it.
    package var lacksConfirmingStamps: Bool {
        guard let knownOffset, let machineClock else { return true }
        return machineClock.lowerOffset - knownOffset > Self.toleranceMilliseconds
    }

    // MARK: For operators

    /// The milliseconds by which the machine's clock is surely ahead of the cluster's. Below zero, it is behind the
    /// stamps. Zero if the clocks may agree.
    package var machineAheadMilliseconds: Int64 {
        guard let machineOffset = machineClock?.lastOffset else { return 0 }
        if let offsetMax, machineOffset > offsetMax { return machineOffset - offsetMax }
        let highestOffset = [knownOffset, stampsAheadOfKnown?.offset].compactMap(\.self).max()
        return min(0, machineOffset - (highestOffset ?? machineOffset))
    }

    /// The difference between the sources in milliseconds, if an operator should look at the clocks; else 0.
    package var doubtfulDifferenceMilliseconds: Int64 {
        guard let knownOffset, let machineClock else { return 0 }
        let difference = max(machineClock.upperOffset - knownOffset, knownOffset - machineClock.lowerOffset)
        if stampsAheadOfKnown != nil || machineClock.isDoubtful {
            return max(difference, Self.stepMilliseconds)
        }
        return knownOffset - machineClock.lowerOffset > Self.stepMilliseconds ? difference : 0
    }
}
