internal import Lifecycle

/// Whether, and since when, the cluster's stamps are ahead of the machine's clock. If they are, one of the
/// two clocks is wrong. The stamps are proven if they stay ahead for the confirmation time of `ClusterClock`,
/// and no stamp agrees with the machine's clock meanwhile.
enum StampLead: Sendable {
    /// The time by the stamps is not ahead of the machine's clock, or is unknown.
    case none
    /// Stamps are ahead and not proven. Other stamps before them were not ahead.
    case unproven(AheadStamps)
    /// All known stamps are ahead, from the first one on, and not proven. No stamp has ever agreed with the
    /// machine's clock, so the machine's clock counts. Nil after a step of that clock, until the next stamp
    /// comes.
    case unprovenSinceFirstStamp(AheadStamps?)
    /// The stamps are proven up to this offset. They count against the machine's clock.
    case proven(offset: Int64)

    /// Whether all known stamps are ahead of the machine's clock and not proven.
    var isUnprovenSinceFirstStamp: Bool {
        switch self {
        case .unprovenSinceFirstStamp: true
        case .none, .unproven, .proven: false
        }
    }

    /// The offset up to which the stamps are proven; nil if they are not.
    var provenOffset: Int64? {
        switch self {
        case .proven(let offset): offset
        case .none, .unproven, .unprovenSinceFirstStamp: nil
        }
    }

    /// Notes a stamp that is ahead of the machine's clock and not behind the known time.
    mutating func noteStampAhead(offset: Int64, at now: Instant, confirmationMilliseconds: Int) {
        var stamps: AheadStamps
        switch self {
        case .none, .unprovenSinceFirstStamp(nil): stamps = AheadStamps(offset: offset, at: now)
        case .unproven(let earlier), .unprovenSinceFirstStamp(let earlier?): stamps = earlier
        case .proven(let provenOffset):
            self = .proven(offset: max(provenOffset, offset))
            return
        }
        let areConfirmed = stamps.add(
            offset: offset, at: now, confirmationMilliseconds: confirmationMilliseconds)
        if areConfirmed {
            self = .proven(offset: offset)
        } else {
            self = isUnprovenSinceFirstStamp ? .unprovenSinceFirstStamp(stamps) : .unproven(stamps)
        }
    }

    /// Notes a step of the machine's clock. The stamps were compared with the clock before the step, so their
    /// confirmation time begins anew.
    mutating func noteMachineStep() {
        switch self {
        case .none: break
        case .unproven, .proven: self = .none
        case .unprovenSinceFirstStamp: self = .unprovenSinceFirstStamp(nil)
        }
    }
}
