package import Lifecycle
package import Telemetry

// The readings of the cluster's clock. `ClusterClock` has a table of their purposes.

extension ClusterClock {
    /// Returns the time by the stamps, or nil before the first one.
    package func time(at now: Instant) -> WallTime? {
        knownOffset.map { WallTime(milliseconds: $0 + now.milliseconds) }
    }

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

    /// Returns an offset of the machine's clock, but at most the upper bound of the cluster's time.
    private func bounded(_ machineOffset: Int64) -> Int64 { min(machineOffset, offsetUpperBound ?? .max) }

    /// Whether the stamps confirm the machine's clock: they are not far behind it, and not all of them are ahead of it.
    package var isMachineConfirmed: Bool {
        !lead.isUnprovenSinceFirstStamp && !lacksConfirmingStamps
    }

    /// Returns the time for acts that are due at a moment, in milliseconds since 1970: the known time. Records
    /// that have waited make it too low, never too high, so no act is done too early. While the known time is
    /// ahead of the machine's time and not proven, `dueTime` is the machine's time. Returns nil before the
    /// first stamp.
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

    /// Whether a clock has stepped, or the stamps are ahead of the machine's clock, and this is not confirmed
    /// yet.
    package var isDoubtful: Bool {
        let areStampsUnproven = machineOffset != nil && knownOffset.map(isUnproven) == true
        return stampsAheadOfBoth != nil || machineClock?.isDoubtful == true || areStampsUnproven
    }

    /// Returns a time that has surely passed, in milliseconds since 1970: the machine's time, or the known
    /// time if the stamps are too far behind to confirm the machine's clock. Returns nil until both sources
    /// were watched for `settleMilliseconds`, so that no irreversible act depends on one source alone.
    package func earliestTime(at now: Instant) -> Int64? {
        guard let knownOffset, let machineOffset, now.milliseconds(since: startedAt) >= settleMilliseconds
        else { return nil }
        let offset = lacksConfirmingStamps ? knownOffset : bounded(machineOffset)
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
        guard let knownOffset, let machineOffset else { return true }
        return machineOffset - knownOffset > Self.toleranceMilliseconds
    }

    // MARK: For operators

    /// The milliseconds by which the machine's clock is surely ahead of the cluster's. Below zero, it is behind the
    /// stamps. Zero if the clocks may agree.
    package var machineAheadMilliseconds: Int64 {
        guard let lastOffset = machineClock?.lastOffset else { return 0 }
        if let offsetUpperBound, lastOffset > offsetUpperBound { return lastOffset - offsetUpperBound }
        let highestOffset = [knownOffset, stampsAheadOfBoth?.offset].compactMap(\.self).max()
        return min(0, lastOffset - (highestOffset ?? lastOffset))
    }

    /// The difference between the sources in milliseconds, if an operator should look at the clocks; else 0.
    package var doubtfulDifferenceMilliseconds: Int64 {
        guard let knownOffset, let machineClock else { return 0 }
        let difference = max(machineClock.upperOffset - knownOffset, knownOffset - machineClock.lowerOffset)
        if stampsAheadOfBoth != nil || machineClock.isDoubtful {
            return max(difference, Self.agreementMilliseconds)
        }
        return knownOffset - machineClock.lowerOffset > Self.agreementMilliseconds ? difference : 0
    }
}
