package import Lifecycle

/// The time of the cluster, as far as this process can know it.
///
/// There are three sources. Brokers write *stamps* on records. This machine has a *clock*, which can step.
/// And the *steady clock* measures durations and never jumps. Stamps and the machine's clock agree if they
/// differ by at most `agreementMilliseconds`. A larger difference may be an error of a clock. Then it is
/// believed only after the *confirmation time* (`confirmationMilliseconds`), usually a minute.
///
/// The *known time* is the time by the highest believed stamp of the last one to two minutes
/// (`StampWindows`):
///
/// - A stamp that is not ahead of the known time is believed.
/// - A stamp that is ahead of the known time, but not of the machine's clock, is believed.
/// - A stamp that is ahead of both is believed once such stamps have come for the whole confirmation time
///   (`stampsAheadOfBoth`). Any other stamp in between that is not older than the known time starts the
///   confirmation time anew. So a broker whose clock steps for some seconds changes nothing.
///
/// The *machine's time* is the time by the machine's clock. While a step of that clock is not believed, it is
/// the lower of the times before and after the step (`MachineClock`). A step is believed after the
/// confirmation time, or at once if the stamps agree with it.
///
/// If the known time is ahead of the machine's time (`lead`), its stamps are *proven* once they have stayed
/// ahead for the confirmation time. Until then `dueTime` is the machine's time. `decisionTime` is the
/// machine's time until then only if stamps were ahead from the very first one, because then no stamp has
/// ever agreed with the machine's clock.
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
/// | `dueTime` | acts that are due at a moment | the stamps; the machine's clock while the stamps are ahead of it and not proven |
/// | `earliestTime` | irreversible acts | the machine's clock; the stamps if that clock is far ahead of them |
/// | `latestTime` | data that must not end too early | the higher of both sources |
package struct ClusterClock: Sendable {
    /// Times that differ by at most this much agree. With a larger difference, a clock has stepped or is
    /// ahead.
    package static let agreementMilliseconds: Int64 = 5000
    /// The usual time for which both sources are watched before an irreversible act.
    package static let settleMilliseconds = 60_000
    /// The usual confirmation time: a difference of the clocks must last for it until it is believed.
    package static let confirmationMilliseconds = 60_000
    /// The machine's clock is believed if it is ahead of the stamps by at most this time. If it is behind them, it is
    /// believed only within `agreementMilliseconds`.
    package static let toleranceMilliseconds: Int64 = 300_000
    /// The stamps that are safe in additions, in milliseconds since 1970. Others are ignored.
    package static let validStamps: ClosedRange<Int64> = 1...(1 << 53)

    /// The time from which the sources are watched.
    let startedAt: Instant
    let settleMilliseconds: Int
    private let confirmationMilliseconds: Int

    // MARK: The time by the stamps

    /// The stamps that are believed.
    private var stamps: StampWindows
    /// The highest offset that the cluster's time can have: the stamp of a record of known age, plus that age. It limits
    /// the machine's clock in `decisionTime` and `earliestTime`. Nil if no such record was read, or if a later stamp was
    /// above it.
    private(set) var offsetUpperBound: Int64?

    // MARK: Stamps that are ahead

    /// The stamps that are ahead of both the known time and the machine's clock, and are not believed yet.
    private(set) var stampsAheadOfBoth: AheadStamps?
    /// Whether, and since when, the known time is ahead of the machine's clock.
    private(set) var lead = StampLead.none

    // MARK: The machine's clock

    /// Nil before the first observation.
    private(set) var machineClock: MachineClock?

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
        if isStep { lead.noteMachineStep() }
        trustMachineIfStampsAgree()
        // The lead ends if the machine's clock was set forward, or if newer stamps have replaced those that
        // were ahead.
        if let knownOffset, !isAheadOfMachine(offset: knownOffset) { lead = .none }
        return isStep
    }

    /// Notes the stamp of a record of unknown age.
    ///
    /// - Parameter stamp: milliseconds since 1970.
    package mutating func observe(stamp: Int64, at now: Instant) {
        guard Self.validStamps.contains(stamp) else { return }
        let offset = stamp - now.milliseconds
        // A stamp above the bound shows that a broker's clock was set forward, so the bound is no longer valid.
        if let offsetUpperBound, offset > offsetUpperBound { self.offsetUpperBound = nil }
        if believes(offset: offset, at: now) { stamps.add(offset: offset, at: now) }
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

    /// The offset of the known time. Nil before the first stamp.
    var knownOffset: Int64? { stamps.highestOffset }

    /// The offset of the machine's time. Nil before the first observation.
    var machineOffset: Int64? { machineClock?.lowerOffset }

    // MARK: Stamps against the machine's clock

    /// The relation of a stamp to the machine's clock.
    private enum RelationToMachine {
        case ahead
        case agrees
        /// The stamp is behind: its record waited, or the machine's clock is ahead of the cluster's.
        case behind
    }

    /// Decides whether a stamp is believed, and notes whether it confirms or contradicts the other stamps.
    private mutating func believes(offset: Int64, at now: Instant) -> Bool {
        guard let knownOffset else {
            noteFirst(offset: offset, at: now)
            return true
        }
        let relation = relationToMachine(of: offset)
        let isAheadOfKnown = offset > knownOffset + Self.agreementMilliseconds
        if isAheadOfKnown, relation == .ahead { return believesStampAheadOfBoth(offset: offset, at: now) }
        // A current stamp contradicts stamps that are ahead of both. An older stamp does not, because its record
        // may have waited.
        let isCurrent = offset >= knownOffset - Self.agreementMilliseconds
        if isCurrent { stampsAheadOfBoth = nil }
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
            lead = .none
        case .behind: break
        }
        return true
    }

    /// Notes the first stamp, which is believed in any case.
    private mutating func noteFirst(offset: Int64, at now: Instant) {
        guard machineClock != nil, relationToMachine(of: offset) == .ahead else { return }
        lead = .unprovenSinceFirstStamp(AheadStamps(offset: offset, at: now))
    }

    /// Notes a stamp that is ahead of the known time and of the machine's clock. Returns whether such stamps
    /// have come for the confirmation time. Then they are proven, and all other stamps are forgotten.
    private mutating func believesStampAheadOfBoth(offset: Int64, at now: Instant) -> Bool {
        var stampsAhead = stampsAheadOfBoth ?? AheadStamps(offset: offset, at: now)
        let areConfirmed = stampsAhead.add(
            offset: offset, at: now, confirmationMilliseconds: confirmationMilliseconds)
        stampsAheadOfBoth = stampsAhead
        guard areConfirmed else { return false }
        forgetStamps(at: now)
        lead = .proven(offset: offset)
        return true
    }

    /// Forgets all stamps. The caller adds the stamp that tells the time from now on.
    private mutating func forgetStamps(at now: Instant) {
        stamps = StampWindows(startedAt: now)
        stampsAheadOfBoth = nil
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

    /// Believes a step of the machine's clock at once if the clock agrees with the stamps after it: two sources agree.
    private mutating func trustMachineIfStampsAgree() {
        guard let knownOffset, machineClock?.isDoubtful == true, let last = machineClock?.lastOffset,
            abs(last - knownOffset) <= Self.agreementMilliseconds
        else { return }
        machineClock?.trust()
        lead = .none
    }
}
