package import Lifecycle

/// A limit on the rate of firing. Without it, all late timers would fire at once after a downtime.
package struct FiringBudget {
    /// The time for which unused budget accumulates.
    private static let savedMilliseconds = 100

    private let perSecond: Int
    private var left = 0.0
    private var filledAt: Instant?

    package init(perSecond: Int) { self.perSecond = perSecond }

    package mutating func available(at now: Instant) -> Int {
        let most = max(1, Double(perSecond) * Double(Self.savedMilliseconds) / 1000)
        if let filledAt {
            left = min(most, left + Double(perSecond) * max(0, now.seconds(since: filledAt)))
        } else {
            left = most
        }
        filledAt = now
        return Int(left)
    }

    package mutating func use(_ count: Int) { left -= Double(count) }
}
