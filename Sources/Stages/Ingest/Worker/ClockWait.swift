package import Lifecycle

/// The wait of reports whose stamps are ahead of the time for decisions (`ClusterClock.decisionTime`). If this
/// machine's clock is behind, merging now would send good reports to the dead letters, as written in the future.
///
/// Reports wait until the clock is set, or until newer stamps prove the cluster's time. If other stamps agree with this
/// machine, only the clock of the reports' broker is wrong, and they wait for a limited time.
package struct ClockWait: Sendable {
    /// The difference below which clocks count as right. It is smaller than `Retention.clockSkewMillisecondsMax`, from
    /// which on a report is rejected.
    package static let toleranceMilliseconds: Int64 = 60_000
    /// The longest wait for a broker's clock, and the time after which a difference that was not seen again is over.
    /// After the wait the reports are merged, and those in the future are rejected.
    package static let brokerClockMillisecondsMax = 600_000
    /// The pause before waiting reports are read again, for newer stamps.
    package static let recheckMilliseconds = 5000

    /// A difference of the clocks: stamps are ahead of the time for decisions.
    private struct Difference {
        let since: Instant
        /// The newest of these stamps less the steady clock, in milliseconds.
        var stampOffset: Int64
        /// The time at which that stamp was read.
        var seenAt: Instant
    }

    /// Nil while the clocks agree.
    private var difference: Difference?
    /// Whether reports wait. After the limit they do not, although their stamps are still ahead.
    package private(set) var isWaiting = false
    /// The time at which the waiting reports are read again.
    package private(set) var nextCheck = Instant(nanoseconds: 0)

    package init() {}

    /// Decides whether a batch must wait, notes the decision, and returns it. Called before each batch is merged.
    ///
    /// - Parameters:
    ///   - newestStamp: the newest stamp of the cluster in the batch, in milliseconds since 1970. Nil if it has none.
    ///   - decisionTime: the time for decisions, in milliseconds since 1970.
    ///   - isMachineConfirmed: whether other stamps agree with this machine's clock.
    package mutating func mustWait(
        newestStamp: Int64?, decisionTime: Int64, isMachineConfirmed: Bool, at now: Instant
    ) -> Bool {
        isWaiting = false
        guard let newestStamp, newestStamp > decisionTime + Self.toleranceMilliseconds else { return false }
        let since = beginningOfDifference(at: now)
        difference = Difference(since: since, stampOffset: newestStamp - now.milliseconds, seenAt: now)
        isWaiting = !isMachineConfirmed || now.milliseconds(since: since) < Self.brokerClockMillisecondsMax
        if isWaiting { nextCheck = now.advanced(byMilliseconds: Self.recheckMilliseconds) }
        return isWaiting
    }

    /// Returns the beginning of the difference, which is now for a new difference. A batch without reports that are
    /// ahead does not end the difference, because the next batch can have such reports again. The difference is over
    /// if its stamp is no longer ahead, or if it was not seen for a long time.
    private func beginningOfDifference(at now: Instant) -> Instant {
        guard let difference,
            now.milliseconds(since: difference.seenAt) <= Self.brokerClockMillisecondsMax
        else { return now }
        return difference.since
    }

    /// Ends the wait if the clocks agree again: the clock was set, or newer stamps have proven the cluster's time. A
    /// later difference then begins a wait of its full length.
    package mutating func update(decisionTime: Int64, at now: Instant) {
        guard let difference,
            difference.stampOffset + now.milliseconds <= decisionTime + Self.toleranceMilliseconds
        else { return }
        self.difference = nil
        isWaiting = false
    }
}
