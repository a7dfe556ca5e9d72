package import Lifecycle

/// A limit on the rate of firing, as a token bucket. Without it, all late timers would fire at once after a downtime.
package struct FiringBudget {
    /// The time for which unused budget accumulates.
    private static let accumulationMilliseconds = 100

    private let perSecond: Int
    /// The number of timers that may fire. It grows with the time since `filledAt`.
    private var remaining = 0.0
    private var filledAt: Instant?

    package init(perSecond: Int) { self.perSecond = perSecond }

    /// Returns the number of timers that may fire now.
    package mutating func available(at now: Instant) -> Int {
        // At least one, or a rate below ten a second would never fire.
        let remainingMax = max(1, Double(perSecond) * Double(Self.accumulationMilliseconds) / 1000)
        if let filledAt {
            remaining = min(
                remainingMax, remaining + Double(perSecond) * max(0, now.seconds(since: filledAt)))
        } else {
            remaining = remainingMax
        }
        filledAt = now
        return Int(remaining)
    }

    /// Takes the number of timers that have fired. It may be above the available number, and the next ones then wait longer.
    package mutating func consume(_ count: Int) { remaining -= Double(count) }
}
