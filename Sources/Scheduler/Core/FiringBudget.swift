package import Lifecycle

/// How many timers may go now: after a downtime, all that are late would otherwise go at once.
package struct FiringBudget {
    /// What has not been used for this long is lost.
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
