package import Lifecycle

/// How often a process may open connections to one host, and who of those that ask is next: APNs takes a
/// peer that opens and closes many for an attack.
///
/// The apps take turns. Two turns of four belong to pools that have no connection, the third to pools that
/// want one more, the fourth to pools whose connections fail; within these, who has waited longest goes
/// first. So an app whose connections fail for ever costs the others a quarter of the budget at most.
package struct ConnectBudget: Sendable {
    private enum Claim: Int {
        case first
        case more
        case failing
    }

    private struct Asking {
        let ask: ConnectAsk
        let at: Instant

        var claim: Claim { ask.failures > 0 ? .failing : ask.isFirst ? .first : .more }
    }

    /// Which claims go before which, turn by turn.
    private static let turns: [[Claim]] = [
        [.first, .more, .failing], [.first, .more, .failing], [.more, .first, .failing],
        [.failing, .first, .more],
    ]
    /// A pool asks once a second at least while it wants a connection; one that has not asked for longer
    /// wants none any more, and holds no other up.
    private static let askMilliseconds = 1_500

    /// One connection in this time, after a burst.
    private let intervalMilliseconds: Int
    private let burst: Int
    /// When the budget would be full again.
    private var fullAt = Instant(nanoseconds: 0)
    private var asking: [UInt64: Asking] = [:]
    private var turn = 0

    package init(intervalMilliseconds: Int = 1_000, burst: Int = 1) {
        precondition(intervalMilliseconds > 0 && burst > 0, "a budget that allows nothing")
        self.intervalMilliseconds = intervalMilliseconds
        self.burst = burst
    }

    /// Takes one connection out of the budget, or says no: ask again.
    ///
    /// - Parameter asker: the pool; each in the process has a number of its own.
    package mutating func take(for asker: UInt64, _ ask: ConnectAsk, at now: Instant) -> Bool {
        let mine = Asking(ask: ask, at: now)
        asking[asker] = mine
        let begins = max(fullAt, now)
        guard begins.milliseconds(since: now) <= (burst - 1) * intervalMilliseconds else { return false }
        asking = asking.filter { now.milliseconds(since: $0.value.at) <= ConnectBudget.askMilliseconds }
        let isNext = asking.allSatisfy { other, its in
            other == asker || goes(asker, asking: mine, before: other, asking: its)
        }
        guard isNext else { return false }
        asking[asker] = nil
        turn = (turn + 1) % ConnectBudget.turns.count
        fullAt = begins.advanced(byMilliseconds: intervalMilliseconds)
        return true
    }

    private func goes(_ one: UInt64, asking its: Asking, before other: UInt64, asking others: Asking) -> Bool
    {
        if its.claim != others.claim {
            return ConnectBudget.turns[turn].first { $0 == its.claim || $0 == others.claim } == its.claim
        }
        let never = Instant(nanoseconds: .min)
        let (last, otherLast) = (its.ask.lastAt ?? never, others.ask.lastAt ?? never)
        return last == otherLast ? one < other : last < otherLast
    }
}
