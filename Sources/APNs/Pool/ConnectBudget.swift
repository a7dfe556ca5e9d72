package import Lifecycle

/// How often a process may open connections to one host: APNs takes a peer that opens and closes many
/// for an attack. Whoever has no connection at all goes before whoever wants one more.
package struct ConnectBudget: Sendable {
    /// One connection in this time, after a burst.
    private let intervalMilliseconds: Int
    private let burst: Int
    /// When the budget would be full again.
    private var fullAt = Instant(nanoseconds: 0)
    private var reservedUntil = Instant(nanoseconds: 0)

    package init(intervalMilliseconds: Int = 1_000, burst: Int = 1) {
        precondition(intervalMilliseconds > 0 && burst > 0, "a budget that allows nothing")
        self.intervalMilliseconds = intervalMilliseconds
        self.burst = burst
    }

    /// Takes one connection out of the budget, or says no: ask again.
    package mutating func take(isFirst: Bool, at now: Instant) -> Bool {
        let begins = max(fullAt, now)
        let isLeft = begins.milliseconds(since: now) <= (burst - 1) * intervalMilliseconds
        if isFirst {
            // Who was refused asks again within a few ticks; until then nobody else gets it.
            reservedUntil =
                isLeft ? Instant(nanoseconds: 0) : now.advanced(byMilliseconds: 2 * intervalMilliseconds)
        }
        guard isLeft, isFirst || now >= reservedUntil else { return false }
        fullAt = begins.advanced(byMilliseconds: intervalMilliseconds)
        return true
    }
}
