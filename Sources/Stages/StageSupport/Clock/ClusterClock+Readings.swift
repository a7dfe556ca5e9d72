package import Lifecycle
package import Telemetry

/// The readings of the cluster's clock. The *known time* is the time by the believed stamps of records, and the
/// *machine's time* is the time by this machine's clock. A caller chooses a reading by its purpose:
///
/// | reading | for | source |
/// |---|---|---|
/// | `time` | metrics, and times in records | the known time |
/// | `decisionTime` | merging, and the age of data | the machine's time, unless the stamps contradict it |
/// | `dueTime` | acts that are due at a moment | the known time; the machine's time while the stamps are ahead of it and not proven |
/// | `earliestTime` | irreversible acts | the machine's time; the known time if the machine's clock is far ahead of it |
/// | `latestTime` | data that must not end too early | the highest of all times |
extension ClusterClock {
    /// Returns the known time, or nil before the first stamp.
    package func time(at now: Instant) -> WallTime? {
        knownOffset.map { WallTime(milliseconds: $0 + now.milliseconds) }
    }

    // MARK: Decisions

    /// Returns the time for decisions, in milliseconds since 1970, or nil before the first observation. It is
    ///
    /// - the machine's time, if there are no stamps, or if all stamps so far are ahead of it and not proven
    /// - the higher of both times, if the stamps confirm the machine's clock
    /// - else the known time.
    package func decisionTime(at now: Instant) -> Int64? {
        guard let machineOffset else { return knownOffset.map { $0 + now.milliseconds } }
        guard let knownOffset, !lead.isUnprovenSinceFirstStamp else {
            return machineOffset + now.milliseconds
        }
        let offset = isMachineConfirmed ? max(bounded(machineOffset), knownOffset) : knownOffset
        return offset + now.milliseconds
    }

    /// Whether the stamps confirm the machine's clock: it is not far ahead of them, and not all of them are ahead of it.
    package var isMachineConfirmed: Bool {
        !lead.isUnprovenSinceFirstStamp && !lacksConfirmingStamps
    }

    /// Whether the machine's clock is so far ahead of the stamps that they do not confirm it, or one of both is unknown.
    package var lacksConfirmingStamps: Bool {
        guard let knownOffset, let machineOffset else { return true }
        return machineOffset - knownOffset > Self.toleranceMilliseconds
    }

    /// Returns an offset of the machine's clock, but at most the upper bound of the cluster's time.
    private func bounded(_ machineOffset: Int64) -> Int64 { min(machineOffset, offsetUpperBound ?? .max) }

    // MARK: Due acts

    /// Returns the time for acts that are due at a moment, in milliseconds since 1970, or nil before the first stamp. It
    /// is the known time. Records that have waited make it too low, never too high, so no act is done too early. While
    /// the known time is ahead of the machine's time and not proven, it is the machine's time instead.
    package func dueTime(at now: Instant) -> Int64? {
        guard let knownOffset else { return nil }
        guard let machineOffset, isUnproven(offset: knownOffset) else {
            return knownOffset + now.milliseconds
        }
        return machineOffset + now.milliseconds
    }

    /// Whether a known time is ahead of the machine's time, and the stamps that tell it are not proven.
    private func isUnproven(offset: Int64) -> Bool {
        guard isAheadOfMachine(offset: offset) else { return false }
        return lead.provenOffset.map { offset > $0 + Self.agreementMilliseconds } ?? true
    }

    // MARK: Bounds

    /// Returns a time that has surely passed, in milliseconds since 1970: the machine's time, or the known
    /// time if the stamps are too far behind to confirm the machine's clock. Returns nil until both sources
    /// were watched for `settleMilliseconds`, so that no irreversible act depends on one source alone.
    package func earliestTime(at now: Instant) -> Int64? {
        guard let knownOffset, let machineOffset, now.milliseconds(since: startedAt) >= settleMilliseconds
        else { return nil }
        let offset = lacksConfirmingStamps ? knownOffset : bounded(machineOffset)
        return offset + now.milliseconds
    }

    /// Returns an upper bound of the time, in milliseconds since 1970: the highest of the known time and the machine's
    /// times before and after a step. Returns the largest number before the first observation.
    package func latestTime(at now: Instant) -> Int64 {
        let highestOffset = [knownOffset, machineClock?.upperOffset].compactMap(\.self).max()
        return highestOffset.map { $0 + now.milliseconds } ?? .max
    }

    // MARK: Doubt

    /// Whether a clock has stepped, or the stamps are ahead of the machine's clock, and this is not confirmed
    /// yet.
    package var isDoubtful: Bool {
        let areStampsUnproven = machineOffset != nil && knownOffset.map(isUnproven) == true
        return heldBackStamps != nil || machineClock?.isDoubtful == true || areStampsUnproven
    }

    // MARK: For operators

    /// The milliseconds by which the machine's clock is surely ahead of the cluster's. Below zero, it is behind the
    /// stamps. Zero if the clocks may agree.
    package var machineAheadMilliseconds: Int64 {
        guard let lastOffset = machineClock?.lastOffset else { return 0 }
        if let offsetUpperBound, lastOffset > offsetUpperBound { return lastOffset - offsetUpperBound }
        let highestOffset = [knownOffset, heldBackStamps?.offset].compactMap(\.self).max()
        return min(0, lastOffset - (highestOffset ?? lastOffset))
    }

    /// The difference between the sources in milliseconds, if an operator should look at the clocks; else 0.
    package var doubtfulDifferenceMilliseconds: Int64 {
        guard let knownOffset, let machineClock else { return 0 }
        let difference = max(machineClock.upperOffset - knownOffset, knownOffset - machineClock.lowerOffset)
        if heldBackStamps != nil || machineClock.isDoubtful {
            return max(difference, Self.agreementMilliseconds)
        }
        return knownOffset - machineClock.lowerOffset > Self.agreementMilliseconds ? difference : 0
    }
}
