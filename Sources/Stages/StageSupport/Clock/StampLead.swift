internal import Lifecycle

/// The lead of the cluster's stamps over the machine's clock. If the stamps are ahead, one of the two clocks is wrong.
/// The stamps are proven if they stay ahead for long enough, and no stamp agrees with the machine's clock meanwhile.
enum StampLead: Sendable {
    /// The time by the stamps is not ahead of the machine's clock, or is unknown.
    case none
    /// Stamps are ahead. Other stamps before them were not.
    case watched(AheadStamps)
    /// All known stamps are ahead, from the first one on. So one source stands against the other, and the machine's
    /// clock counts. There are no stamps to watch after a step of that clock, until the next stamp comes.
    case watchedFromStart(AheadStamps?)
    /// The stamps have been ahead for long enough, up to this offset. They count against the machine's clock.
    case proven(offset: Int64)

    /// Whether all known stamps are ahead of the machine's clock and not proven.
    var isWatchedFromStart: Bool {
        switch self {
        case .watchedFromStart: true
        case .none, .watched, .proven: false
        }
    }

    /// The offset up to which the stamps are proven; nil if they are not.
    var provenOffset: Int64? {
        switch self {
        case .proven(let offset): offset
        case .none, .watched, .watchedFromStart: nil
        }
    }

    /// Notes a current stamp that is ahead of the machine's clock.
    ///
    /// - Parameter milliseconds: the time after which the stamps are proven.
    mutating func noteStampAhead(
        offset: Int64, at now: Instant, provenAfterMilliseconds milliseconds: Int
    ) {
        var stamps: AheadStamps
        switch self {
        case .none, .watchedFromStart(nil): stamps = AheadStamps(offset: offset, at: now)
        case .watched(let watched), .watchedFromStart(let watched?): stamps = watched
        case .proven(let provenOffset):
            self = .proven(offset: max(provenOffset, offset))
            return
        }
        if stamps.add(offset: offset, at: now, lastingMilliseconds: milliseconds) {
            self = .proven(offset: offset)
        } else {
            self = isWatchedFromStart ? .watchedFromStart(stamps) : .watched(stamps)
        }
    }

    /// Notes a step of the machine's clock. The stamps were compared with the clock before the step, so they are
    /// watched anew.
    mutating func noteMachineStep() {
        switch self {
        case .none: break
        case .watched, .proven: self = .none
        case .watchedFromStart: self = .watchedFromStart(nil)
        }
    }
}
