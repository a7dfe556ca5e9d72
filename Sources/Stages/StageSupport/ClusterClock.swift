package import Lifecycle

/// The time of the cluster, as far as this process can know it.
///
/// It has three sources: the stamps that brokers write on records, the clock of this machine, and the steady clock,
/// which never jumps. No source alone moves the time forward by more than a step at once:
///
/// - A stamp can be older than the time, because its record waited. The highest stamps of the last one to two minutes
///   therefore tell the time.
/// - A stamp that is ahead of the time and of the machine's clock is not believed until such stamps have come for a
///   minute, and no other stamp has contradicted them. A broker whose clock steps for some seconds changes nothing.
/// - A step of the machine's clock is not believed until it has lasted for a minute, or until the stamps agree with it.
///
/// All times are kept as offsets: the time minus the steady clock, in milliseconds. A clock that runs evenly has a
/// constant offset.
///
/// Each reading has its purpose:
///
/// | reading | for | source |
/// |---|---|---|
/// | `time` | metrics, and times in records | the stamps |
/// | `decisionTime` | merging, and the age of data | the machine's clock, unless the stamps contradict it |
/// | `dueTime` | acts that are due at a moment | the stamps; the machine's clock while the stamps lead it unproven |
/// | `earliestTime` | irreversible acts | the machine's clock if the stamps confirm it, else the stamps, which are behind it |
/// | `latestTime` | data that must not end too early | the higher of both sources |
package struct ClusterClock: Sendable {
    /// The highest stamp of a window counts for this window and for the next one.
    package static let windowMilliseconds = 60_000
    /// A difference of more than this time between two observations is a step.
    package static let stepMilliseconds: Int64 = 5000
    /// The usual time for which a step must last until it is believed, and for which both sources are watched before an
    /// irreversible act.
    package static let settleMilliseconds = 60_000
    /// The machine's clock is believed if it is ahead of the stamps by at most this time.
    package static let toleranceMilliseconds: Int64 = 300_000
    /// The stamps that are safe in additions, in milliseconds since 1970. Others are ignored.
    package static let validStamps: ClosedRange<Int64> = 1...1 << 53

    /// The time from which the sources are watched.
    let startedAt: Instant
    let settleMilliseconds: Int
    private let confirmationMilliseconds: Int

    // The time by the stamps.

    /// The highest offset of a stamp in this window.
    private var recentOffset: Int64?
    /// The highest offset of a stamp in the window before.
    private var olderOffset: Int64?
    private var windowStartedAt: Instant
    /// An upper bound of the offset, from a record that was surely young when it was read. Nil if none is known.
    private(set) var offsetMax: Int64?

    // Stamps that are ahead.

    /// The stamps that are ahead of the known time and not believed yet.
    private(set) var stampsAheadOfKnown: AheadStamps?
    /// The stamps that are known and ahead of the machine's clock, until they have lasted.
    private var stampsAheadOfMachine: AheadStamps?
    /// The offset by stamps that have been ahead of the machine's clock for long enough.
    private(set) var provenOffset: Int64?
    /// Whether all known stamps are ahead of the machine's clock, so that one source stands against the other.
    private(set) var knowsOnlyStampsAheadOfMachine = false

    /// The machine's clock. Nil before its first observation.
    private(set) var machineClock: MachineClock?

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
        beginWindowIfDue(for: offset, at: now)
        recentOffset = max(recentOffset ?? offset, offset)
    }

    /// Notes the stamp of a record that was written at most `age` milliseconds ago.
    package mutating func observe(stamp: Int64, writtenWithin age: Int64, at now: Instant) {
        guard Self.validStamps.contains(stamp) else { return }
        // This record tells the bound anew, so its stamp is not compared with the old one.
        offsetMax = nil
        observe(stamp: stamp, at: now)
        offsetMax = stamp - now.milliseconds + age
    }

    /// Notes a time in the value of a record, which another process took from a stamp. A time ahead of the machine's
    /// clock counts as the machine's time.
    ///
    /// - Parameter time: milliseconds since 1970.
    package mutating func observe(recordedTime time: Int64, at now: Instant) {
        guard let machineClock else { return }
        observe(stamp: min(time, machineClock.lowerOffset + now.milliseconds), at: now)
    }

    // MARK: Belief

    /// Decides whether a stamp counts, and notes whether it confirms or contradicts another source.
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
        // A stamp of the known time contradicts those that are ahead. An older stamp proves nothing.
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
    func isAheadOfMachine(offset: Int64) -> Bool {
        machineClock.map { offset > $0.lowerOffset + Self.stepMilliseconds } ?? true
    }

    /// Begins a new window if the current one has ended.
    ///
    /// - Parameter offset: the offset of the stamp that will be the first of the new window.
    private mutating func beginWindowIfDue(for offset: Int64, at now: Instant) {
        let age = now.milliseconds(since: windowStartedAt)
        guard age >= Self.windowMilliseconds else { return }
        // During a long silence the steady clock tells the time. The next current stamp replaces the old offset,
        // because the steady clock has drifted.
        let endsSilence = age >= 2 * Self.windowMilliseconds
        let isCurrent = knownOffset.map { offset >= $0 - Self.stepMilliseconds } ?? false
        if endsSilence, isCurrent {
            olderOffset = nil
        } else if let recentOffset {
            olderOffset = recentOffset
        }
        recentOffset = nil
        windowStartedAt = now
    }

    /// The offset by the stamps. Nil before the first one.
    var knownOffset: Int64? { [recentOffset, olderOffset].compactMap(\.self).max() }

    /// A step of the machine's clock to the time that the stamps tell is believed at once: two sources agree.
    private mutating func trustMachineIfConfirmed() {
        guard let knownOffset, machineClock?.isDoubtful == true, let last = machineClock?.lastOffset,
            abs(last - knownOffset) <= Self.stepMilliseconds
        else { return }
        machineClock?.trust()
        (stampsAheadOfMachine, provenOffset, knowsOnlyStampsAheadOfMachine) = (nil, nil, false)
    }
}
