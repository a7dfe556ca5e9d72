internal import Lifecycle

/// The clock of this machine, watched against the steady clock. A step is not believed until it has lasted.
struct MachineClock {
    /// The machine's time less the steady clock, in milliseconds: as it was before a step, and as it is now.
    private var trusted: Int64
    private(set) var last: Int64
    private let beliefMilliseconds: Int
    /// The time of the newest step, until it has lasted.
    private var steppedAt: Instant?

    init(time: Int64, at now: Instant, beliefMilliseconds: Int) {
        self.beliefMilliseconds = beliefMilliseconds
        trusted = time - now.milliseconds
        last = trusted
    }

    /// Whether the clock has stepped and the step has not lasted yet.
    var isDoubtful: Bool { steppedAt != nil }

    /// The lower of the times before and after a step, less the steady clock.
    var lower: Int64 { min(trusted, last) }

    /// The higher of the two.
    var upper: Int64 { max(trusted, last) }

    mutating func trust() { (trusted, steppedAt) = (last, nil) }

    /// Returns whether the clock has stepped.
    mutating func tick(time: Int64, at now: Instant) -> Bool {
        let offset = time - now.milliseconds
        let isStep = abs(offset - last) > ClusterClock.stepMilliseconds
        last = offset
        if abs(offset - trusted) <= ClusterClock.stepMilliseconds {
            steppedAt = nil
        } else if isStep || steppedAt == nil {
            steppedAt = now
        } else if let steppedAt, now.milliseconds(since: steppedAt) >= beliefMilliseconds {
            self.steppedAt = nil
        }
        if steppedAt == nil { trusted = offset }
        return isStep
    }
}
