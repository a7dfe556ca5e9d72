package import Lifecycle

/// The time of the cluster, as far as this process can know it.
///
/// It has three sources: the stamps that brokers write on records, the clock of this machine, and the steady clock,
/// which never jumps. No source alone moves the time forward by more than `agreementMilliseconds` at once:
///
/// - A stamp can be older than the time, because its record waited. The highest stamps of the last one to two minutes
///   therefore tell the time.
/// - A stamp that is ahead of the time and of the machine's clock is not believed until such stamps have lasted, and no
///   other stamp has contradicted them. A broker whose clock steps for some seconds changes nothing.
/// - A step of the machine's clock is not believed until it has lasted, or until the stamps agree with it.
///
/// A difference has lasted after `confirmationMilliseconds`, usually a minute. Stamps and the machine's clock agree if
/// they differ by at most `agreementMilliseconds`.
///
/// So two situations are watched until it is known which source is right:
///
/// - A stamp is ahead of the known time and of the machine's clock (`stampsAheadOfKnown`).
/// - The known time itself is ahead of the machine's clock (`lead`). If even the first stamp was ahead, no earlier
///   stamp speaks for either source. Then the machine's clock counts, until the stamps have stayed ahead for long
///   enough. That proves them.
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
/// | `dueTime` | acts that are due at a moment | the stamps; the machine's clock while they lead it and are not proven |
/// | `earliestTime` | irreversible acts | the machine's clock; the stamps if they are far behind it |
/// | `latestTime` | data that must not end too early | the higher of both sources |
package struct ClusterClock: Sendable {
    /// The highest stamp of a window counts for this window and for the next one. If no stamps come for longer, it
    /// counts until a stamp comes that is not older than the known time (a current stamp), or until older ones have
    /// come for a whole window.
    package static let windowMilliseconds = 60_000
    /// Times that differ by at most this much agree. A larger difference is a step of a clock, or a lead over another.
    package static let agreementMilliseconds: Int64 = 5000
    /// The usual time for which both sources are watched before an irreversible act.
    package static let settleMilliseconds = 60_000
    /// The usual time for which a step or a lead must last until it is believed.
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

    /// The highest offset of a stamp in this window.
    private var recentOffset: Int64?
    /// The highest offset of a stamp in the window before.
    private var olderOffset: Int64?
    private var windowStartedAt: Instant
    /// An upper bound of the offset, from a record that was surely young when it was read. It limits the machine's
    /// clock in `decisionTime` and `earliestTime`. Nil if none is known.
    private(set) var offsetUpperBound: Int64?

    // MARK: Stamps that are ahead

    /// The stamps that are ahead of the known time and of the machine's clock, and are not believed yet.
    private(set) var stampsAheadOfKnown: AheadStamps?
    /// The lead of the known stamps over the machine's clock.
    private(set) var lead = StampLead.none

    // MARK: The machine's clock

    /// The machine's clock. Nil before its first observation. While a step of it is not believed, stamps are compared
    /// with the lower of the times before and after the step (`MachineClock.lowerOffset`).
    private(set) var machineClock: MachineClock?

    /// - Parameters:
    ///   - settleMilliseconds: the time for which the sources are watched before `earliestTime` returns a time.
    ///   - confirmationMilliseconds: the time for which a step or a lead has to last until it is believed.
    package init(
        now: Instant, settleMilliseconds: Int = ClusterClock.settleMilliseconds,
        confirmationMilliseconds: Int = ClusterClock.confirmationMilliseconds
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
        if isStep { lead.noteMachineStep() }
        trustMachineIfStampsAgree()
        // The machine's clock was set forward, or newer stamps have replaced those that were ahead.
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
        guard judge(offset: offset, at: now) else { return }
        beginWindowIfDue(for: offset, at: now)
        recentOffset = max(recentOffset ?? offset, offset)
    }

    /// Notes the stamp of a record that was written at most `age` milliseconds ago.
    package mutating func observe(stamp: Int64, writtenWithin age: Int64, at now: Instant) {
        guard Self.validStamps.contains(stamp) else { return }
        // The bound is replaced by the bound of this record, so `observe` need not check the stamp against the old one.
        // If the stamp is too far ahead to be believed, the new bound is too high. That is harmless: it limits less.
        offsetUpperBound = nil
        observe(stamp: stamp, at: now)
        offsetUpperBound = stamp - now.milliseconds + age
    }

    /// Notes a time in the value of a record, which another process took from a stamp. A time ahead of the machine's
    /// clock counts as the machine's time.
    ///
    /// - Parameter time: milliseconds since 1970.
    package mutating func observe(recordedTime time: Int64, at now: Instant) {
        guard let machineClock else { return }
        observe(stamp: min(time, machineClock.lowerOffset + now.milliseconds), at: now)
    }

    // MARK: Stamps against the machine's clock

    /// The relation of a stamp to the machine's clock.
    private enum RelationToMachine {
        case ahead
        case agrees
        /// The stamp is behind: its record waited, or the machine's clock is ahead of the cluster's.
        case behind
    }

    /// Decides whether a stamp counts, and notes whether it confirms or contradicts the other stamps.
    private mutating func judge(offset: Int64, at now: Instant) -> Bool {
        guard let knownOffset else {
            noteFirst(offset: offset, at: now)
            return true
        }
        let relation = relationToMachine(of: offset)
        let isAheadOfKnown = offset > knownOffset + Self.agreementMilliseconds
        if isAheadOfKnown, relation == .ahead { return judgeAheadOfBoth(offset: offset, at: now) }
        // A current stamp contradicts stamps that are ahead of the known time. An older one proves nothing.
        let isCurrent = offset >= knownOffset - Self.agreementMilliseconds
        if isCurrent { stampsAheadOfKnown = nil }
        switch relation {
        case .ahead:
            // The known time leads the machine's clock, and a current stamp confirms it.
            if isCurrent {
                lead.noteStampAhead(
                    offset: offset, at: now, provenAfterMilliseconds: confirmationMilliseconds)
            }
        case .agrees:
            // The stamps so far stood alone against the machine's clock. This one shows that they are wrong.
            if lead.isWatchedFromStart { forgetStamps(at: now) }
            lead = .none
        case .behind: break
        }
        return true
    }

    /// Notes the first stamp, which counts in any case. If it is ahead of the machine's clock, one source stands
    /// against the other.
    private mutating func noteFirst(offset: Int64, at now: Instant) {
        guard machineClock != nil, relationToMachine(of: offset) == .ahead else { return }
        lead = .watchedFromStart(AheadStamps(offset: offset, at: now))
    }

    /// Returns whether stamps that are ahead of both sources have lasted. Then all others are forgotten.
    private mutating func judgeAheadOfBoth(offset: Int64, at now: Instant) -> Bool {
        var stamps = stampsAheadOfKnown ?? AheadStamps(offset: offset, at: now)
        let haveLasted = stamps.add(
            offset: offset, at: now, lastingMilliseconds: confirmationMilliseconds)
        stampsAheadOfKnown = stamps
        guard haveLasted else { return false }
        forgetStamps(at: now)
        lead = .proven(offset: offset)
        return true
    }

    /// Forgets all stamps. The caller adds the stamp that tells the time from now on.
    private mutating func forgetStamps(at now: Instant) {
        (recentOffset, olderOffset, windowStartedAt) = (nil, nil, now)
        stampsAheadOfKnown = nil
    }

    /// Compares a stamp with the machine's clock. While that clock is unknown, every stamp counts as ahead, because
    /// nothing confirms it.
    private func relationToMachine(of offset: Int64) -> RelationToMachine {
        guard let machineClock, !isAheadOfMachine(offset: offset) else { return .ahead }
        return offset >= machineClock.lowerOffset - Self.agreementMilliseconds ? .agrees : .behind
    }

    /// Whether a stamp is ahead of the machine's clock.
    func isAheadOfMachine(offset: Int64) -> Bool {
        machineClock.map { offset > $0.lowerOffset + Self.agreementMilliseconds } ?? true
    }

    /// Believes a step of the machine's clock at once if the clock agrees with the stamps after it: two sources agree.
    private mutating func trustMachineIfStampsAgree() {
        guard let knownOffset, machineClock?.isDoubtful == true, let last = machineClock?.lastOffset,
            abs(last - knownOffset) <= Self.agreementMilliseconds
        else { return }
        machineClock?.trust()
        lead = .none
    }

    // MARK: The highest stamp

    /// The offset by the stamps. Nil before the first one.
    var knownOffset: Int64? { [recentOffset, olderOffset].compactMap(\.self).max() }

    /// Begins a new window if the current one has ended. Usually the ended window becomes the older one.
    ///
    /// In a silence the steady clock tells the time, and it drifts. So after a silence of two windows the first stamp
    /// replaces all others, if it is current. The stamp of a record that waited does not.
    ///
    /// - Parameter offset: the offset of the first stamp of the new window.
    private mutating func beginWindowIfDue(for offset: Int64, at now: Instant) {
        let age = now.milliseconds(since: windowStartedAt)
        guard age >= Self.windowMilliseconds else { return }
        let endsSilence = age >= 2 * Self.windowMilliseconds
        let isCurrent = knownOffset.map { offset >= $0 - Self.agreementMilliseconds } ?? false
        olderOffset = endsSilence && isCurrent ? nil : recentOffset
        recentOffset = nil
        windowStartedAt = now
    }
}
