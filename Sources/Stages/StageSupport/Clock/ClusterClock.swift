package import Lifecycle

/// The time of the cluster, as far as this process can know it.
///
/// Each source can be wrong. A broker writes a *stamp* on each record, but the record may have waited, so its
/// stamp may be too low. The clock of a broker or of this machine may be set wrong, so its time may be too high.
/// Therefore no source alone moves the time forward by more than 5 s at once. A larger step is believed only
/// after it has lasted for a minute, the *confirmation time*. The *steady clock* measures the minute: it has no
/// date, but it never jumps.
///
/// The clock observes the stamps and this machine's clock, and keeps the times of both. Its readings combine them,
/// each for one purpose (`ClusterClock+Readings`).
///
/// Each time is kept as an offset: the time minus the steady clock, in milliseconds. A clock that runs evenly has
/// a constant offset.
package struct ClusterClock: Sendable {
    /// Times that differ by at most this much agree. If they differ by more, a clock has stepped or is ahead.
    package static let agreementMilliseconds: Int64 = 5000
    /// The usual confirmation time.
    package static let confirmationMilliseconds = 60_000
    /// The usual time for which both sources are watched before an irreversible act (`earliestTime`).
    package static let settleMilliseconds = 60_000
    /// The machine's clock may be ahead of the stamps by this much before `decisionTime` and `earliestTime` stop
    /// using it. It is much more than `agreementMilliseconds`, because records wait, so the stamps may be behind.
    package static let toleranceMilliseconds: Int64 = 300_000
    /// The stamps that are safe in additions, in milliseconds since 1970. Others are ignored.
    package static let validStamps: ClosedRange<Int64> = 1...(1 << 53)

    /// The time from which the sources are watched.
    let startedAt: Instant
    let settleMilliseconds: Int
    private let confirmationMilliseconds: Int

    // MARK: The stamps

    /// The believed stamps. The highest one of the last one to two minutes tells the *known time*. Every stamp is
    /// believed that is not ahead of both the known time and the machine's clock.
    private var stamps: StampWindows
    /// The stamps that are ahead of both. They are *held back* until such stamps have come for the whole confirmation
    /// time. A believed stamp in between drops them, unless it is older than the known time. So a broker whose clock
    /// steps for some seconds changes nothing.
    private(set) var heldBackStamps: AheadStamps?
    /// The highest offset that the cluster's time can have: the stamp of a record of known age, plus that age. It limits
    /// the machine's clock in `decisionTime` and `earliestTime`. Nil if no such record was read, or if a later stamp was
    /// above it.
    private(set) var offsetUpperBound: Int64?

    // MARK: The machine's clock

    /// The clock of this machine. It tells the *machine's time*: while a step of the clock is not believed, the lower of
    /// the times before and after the step. A step is believed after the confirmation time, or at once if the stamps
    /// agree with it. Nil before the first observation.
    private(set) var machineClock: MachineClock?
    /// Whether, and since when, the known time is ahead of the machine's time, for example because the machine's clock
    /// was set back. The stamps ahead are *proven* once they have stayed ahead for the confirmation time. Until then
    /// `dueTime` does not use them.
    private(set) var lead = StampLead.none

    /// - Parameters:
    ///   - settleMilliseconds: the time for which the sources are watched before `earliestTime` returns a time.
    ///   - confirmationMilliseconds: the confirmation time.
    package init(
        now: Instant, settleMilliseconds: Int = ClusterClock.settleMilliseconds,
        confirmationMilliseconds: Int = ClusterClock.confirmationMilliseconds
    ) {
        startedAt = now
        stamps = StampWindows(startedAt: now)
        self.settleMilliseconds = settleMilliseconds
        self.confirmationMilliseconds = confirmationMilliseconds
    }

    /// The offset of the known time. Nil before the first stamp.
    var knownOffset: Int64? { stamps.highestOffset }

    /// The offset of the machine's time. Nil before the first observation.
    var machineOffset: Int64? { machineClock?.lowerOffset }

    // MARK: Observations of the machine's clock

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
        if isStep { lead.noteMachineStep() }
        trustMachineIfStampsAgree()
        // The lead ends if the machine's clock was set forward, or if newer stamps have replaced those that
        // were ahead.
        if let knownOffset, !isAheadOfMachine(offset: knownOffset) { lead = .none }
        return isStep
    }

    /// Believes a step of the machine's clock at once if the clock agrees with the stamps after it: two sources agree.
    private mutating func trustMachineIfStampsAgree() {
        guard let knownOffset, machineClock?.isDoubtful == true, let last = machineClock?.lastOffset,
            abs(last - knownOffset) <= Self.agreementMilliseconds
        else { return }
        machineClock?.trust()
        lead = .none
    }

    // MARK: Observations of stamps

    /// Notes the stamp of a record of unknown age.
    ///
    /// - Parameter stamp: milliseconds since 1970.
    package mutating func observe(stamp: Int64, at now: Instant) {
        guard Self.validStamps.contains(stamp) else { return }
        let offset = stamp - now.milliseconds
        // A stamp above the bound shows that a broker's clock was set forward, so the bound is no longer valid.
        if let offsetUpperBound, offset > offsetUpperBound { self.offsetUpperBound = nil }
        believeOrHoldBack(offset: offset, at: now)
    }

    /// Notes the stamp of a record that was written at most `age` milliseconds ago.
    package mutating func observe(stamp: Int64, writtenWithin age: Int64, at now: Instant) {
        guard Self.validStamps.contains(stamp) else { return }
        observe(stamp: stamp, at: now)
        // The new bound replaces the old one, whichever is higher. A wrong stamp that is ahead makes the
        // bound too high, and then it only limits less.
        offsetUpperBound = stamp - now.milliseconds + age
    }

    /// Notes a time in the value of a record, which another process took from a stamp. A time ahead of the machine's
    /// clock counts as the machine's time.
    ///
    /// - Parameter time: milliseconds since 1970.
    package mutating func observe(recordedTime time: Int64, at now: Instant) {
        guard let machineOffset else { return }
        observe(stamp: min(time, machineOffset + now.milliseconds), at: now)
    }

    // MARK: Which stamps are believed

    /// Believes a stamp, or holds it back if it is ahead of both the known time and the machine's clock.
    private mutating func believeOrHoldBack(offset: Int64, at now: Instant) {
        guard let knownOffset else { return believeFirst(offset: offset, at: now) }
        let relation = relationToMachine(of: offset)
        let isAheadOfKnown = offset > knownOffset + Self.agreementMilliseconds
        if isAheadOfKnown, relation == .ahead { return holdBack(offset: offset, at: now) }
        // Only a current stamp can contradict other stamps. The record of an older one may have waited.
        let isCurrent = offset >= knownOffset - Self.agreementMilliseconds
        if isCurrent { heldBackStamps = nil }
        switch relation {
        case .ahead:
            // The known time is ahead of the machine's clock too, and a current stamp confirms it.
            if isCurrent {
                lead.noteStampAhead(
                    offset: offset, at: now, confirmationMilliseconds: confirmationMilliseconds)
            }
        case .agrees:
            // All stamps so far were ahead of the machine's clock. This one agrees with it, so they were
            // wrong.
            if lead.isUnprovenSinceFirstStamp { forgetStamps(at: now) }
            // An old record may agree by chance and end a lead that is right. Then `dueTime` is too low until the
            // lead is proven again, and no act is done too early.
            lead = .none
        case .behind: break
        }
        stamps.add(offset: offset, at: now)
    }

    /// Believes the first stamp, in any case. If it is ahead of the machine's clock, the lead begins with it.
    private mutating func believeFirst(offset: Int64, at now: Instant) {
        if machineClock != nil, relationToMachine(of: offset) == .ahead {
            lead = .unprovenSinceFirstStamp(AheadStamps(offset: offset, at: now))
        }
        stamps.add(offset: offset, at: now)
    }

    /// Holds back a stamp that is ahead of the known time and of the machine's clock. If such stamps have come for the
    /// confirmation time, this one is believed and proven instead, and replaces all others.
    private mutating func holdBack(offset: Int64, at now: Instant) {
        var heldBack = heldBackStamps ?? AheadStamps(offset: offset, at: now)
        let areConfirmed = heldBack.add(
            offset: offset, at: now, confirmationMilliseconds: confirmationMilliseconds)
        heldBackStamps = heldBack
        guard areConfirmed else { return }
        forgetStamps(at: now)
        lead = .proven(offset: offset)
        stamps.add(offset: offset, at: now)
    }

    /// Forgets all stamps. The caller adds the stamp that tells the time from now on.
    private mutating func forgetStamps(at now: Instant) {
        stamps = StampWindows(startedAt: now)
        heldBackStamps = nil
    }

    // MARK: Stamps against the machine's clock

    /// The relation of a stamp to the machine's clock.
    private enum RelationToMachine {
        case ahead
        case agrees
        /// The stamp is behind: its record waited, or the machine's clock is ahead of the cluster's.
        case behind
    }

    /// Compares a stamp with the machine's clock. While that clock is unknown, every stamp counts as ahead, because
    /// nothing confirms it.
    private func relationToMachine(of offset: Int64) -> RelationToMachine {
        guard let machineOffset, !isAheadOfMachine(offset: offset) else { return .ahead }
        return offset >= machineOffset - Self.agreementMilliseconds ? .agrees : .behind
    }

    /// Whether a stamp is ahead of the machine's clock.
    func isAheadOfMachine(offset: Int64) -> Bool {
        machineOffset.map { offset > $0 + Self.agreementMilliseconds } ?? true
    }
}
