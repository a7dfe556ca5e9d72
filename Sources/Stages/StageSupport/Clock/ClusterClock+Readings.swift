package import Lifecycle
package import Telemetry

// The readings of the cluster's clock. `ClusterClock` has a table of their purposes.

extension ClusterClock {
    /// Returns the time by the stamps, or nil before the first one.
    package func time(at now: Instant) -> WallTime? {
        knownOffset.map { WallTime(milliseconds: $0 + now.milliseconds) }
    }

    /// Returns the time for decisions, in milliseconds since 1970. It is the time by the stamps if they contradict the
    /// machine's clock. It is the machine's time if there are no stamps, or only such that are ahead of it, and else the
    /// higher of both. Returns nil before the first observation.
    package func decisionTime(at now: Instant) -> Int64? {
        guard let machineClock else { return knownOffset.map { $0 + now.milliseconds } }
        guard let knownOffset, !lead.isWatchedFromStart else {
            return machineClock.lowerOffset + now.milliseconds
        }
        let offset =
            isMachineConfirmed ? max(boundedOffset(of: machineClock), knownOffset) : knownOffset
        return offset + now.milliseconds
    }

    /// Returns the offset of the machine's clock, or the upper bound if the clock is ahead of it.
    private func boundedOffset(of machineClock: MachineClock) -> Int64 {
        min(machineClock.lowerOffset, offsetUpperBound ?? .max)
    }

    /// Whether the stamps confirm the machine's clock: they are not far behind it, and not all of them are ahead of it.
    package var isMachineConfirmed: Bool {
        !lead.isWatchedFromStart && !lacksConfirmingStamps
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
        return lead.provenOffset.map { offset > $0 + Self.agreementMilliseconds } ?? true
    }

    /// Whether a clock has stepped, or is ahead of the other one, and this has not lasted yet.
    package var isDoubtful: Bool {
        let areStampsUnproven = machineClock != nil && knownOffset.map(isUnproven) == true
        return stampsAheadOfKnown != nil || machineClock?.isDoubtful == true || areStampsUnproven
    }

    /// Returns a time that has surely passed, in milliseconds since 1970: the machine's time, or the time by the stamps
    /// if they are too far behind to confirm it. Returns nil until both sources were watched for `settleMilliseconds`,
    /// so that no irreversible act depends on one source alone.
    package func earliestTime(at now: Instant) -> Int64? {
        guard let knownOffset, let machineClock, now.milliseconds(since: startedAt) >= settleMilliseconds
        else { return nil }
        let offset = lacksConfirmingStamps ? knownOffset : boundedOffset(of: machineClock)
        return offset + now.milliseconds
    }

    /// Returns an upper bound of the time, in milliseconds since 1970: the higher of the sources. Returns the largest
    /// number before the first observation.
    package func latestTime(at now: Instant) -> Int64 {
        let highestOffset = [knownOffset, machineClock?.upperOffset].compactMap(\.self).max()
        return highestOffset.map { $0 + now.milliseconds } ?? .max
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
        if let offsetUpperBound, machineOffset > offsetUpperBound { return machineOffset - offsetUpperBound }
        let highestOffset = [knownOffset, stampsAheadOfKnown?.offset].compactMap(\.self).max()
        return min(0, machineOffset - (highestOffset ?? machineOffset))
    }

    /// The difference between the sources in milliseconds, if an operator should look at the clocks; else 0.
    package var doubtfulDifferenceMilliseconds: Int64 {
        guard let knownOffset, let machineClock else { return 0 }
        let difference = max(machineClock.upperOffset - knownOffset, knownOffset - machineClock.lowerOffset)
        if stampsAheadOfKnown != nil || machineClock.isDoubtful {
            return max(difference, Self.agreementMilliseconds)
        }
        return knownOffset - machineClock.lowerOffset > Self.agreementMilliseconds ? difference : 0
    }
}
