internal import Lifecycle

/// The clock of this machine, watched against the steady clock. A step of the clock is not believed until it
/// has lasted for the confirmation time of `ClusterClock`.
struct MachineClock {
    /// The machine's time less the steady clock, in milliseconds, without a step that is not believed yet.
    private var trustedOffset: Int64
    /// The machine's time less the steady clock, in milliseconds, at the last observation.
    private(set) var lastOffset: Int64
    /// The time for which a step has to last until it is believed.
    private let confirmationMilliseconds: Int
    /// The time of the newest step, until the step is believed or undone.
    private var steppedAt: Instant?

    init(time: Int64, at now: Instant, confirmationMilliseconds: Int) {
        self.confirmationMilliseconds = confirmationMilliseconds
        trustedOffset = time - now.milliseconds
        lastOffset = trustedOffset
    }

    /// Whether the clock has stepped and the step is not believed yet.
    var isDoubtful: Bool { steppedAt != nil }

    /// The lower of the offsets before and after a step.
    var lowerOffset: Int64 { min(trustedOffset, lastOffset) }

    /// The higher of the offsets before and after a step.
    var upperOffset: Int64 { max(trustedOffset, lastOffset) }

    /// Believes a step at once, because another source confirms it.
    mutating func trust() { (trustedOffset, steppedAt) = (lastOffset, nil) }

    /// Notes the machine's time. Returns whether the clock has stepped since the last observation.
    mutating func observe(time: Int64, at now: Instant) -> Bool {
        let offset = time - now.milliseconds
        let isStep = abs(offset - lastOffset) > ClusterClock.agreementMilliseconds
        lastOffset = offset
        let agreesWithTrusted = abs(offset - trustedOffset) <= ClusterClock.agreementMilliseconds
        if agreesWithTrusted {
            steppedAt = nil
        } else if isStep || steppedAt == nil {
            steppedAt = now
        } else if let steppedAt, now.milliseconds(since: steppedAt) >= confirmationMilliseconds {
            // The step has lasted for the confirmation time, so it is believed.
            self.steppedAt = nil
        }
        if steppedAt == nil { trustedOffset = offset }
        return isStep
    }
}
