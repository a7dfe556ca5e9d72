package import Lifecycle

/// Limits how often a process opens connections to one host, and decides which pool is next. APNs treats a
/// peer that opens and closes many connections as an attacker.
///
/// The pools take turns. Two turns of four go to pools without a connection. The third goes to pools that
/// want one more, and the fourth to pools whose connections fail. Within each kind, the pool that has waited
/// longest goes first. So an app whose connections always fail costs the others at most a quarter of the
/// budget.
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

    /// Order of the claims in each turn.
    private static let turns: [[Claim]] = [
        [.first, .more, .failing], [.first, .more, .failing], [.more, .first, .failing],
        [.failing, .first, .more],
    ]
    /// Time after which a pool that stopped asking no longer counts. A pool that wants a connection asks at
    /// least once a second. Without this limit, a pool that stopped asking would block the others.
    private static let askMilliseconds = 1_500

    /// Time in which one connection is allowed, after the burst is used up.
    private let intervalMilliseconds: Int
    private let burst: Int
    /// Time at which the budget is full again.
    private var fullAt = Instant(nanoseconds: 0)
    private var asking: [UInt64: Asking] = [:]
    private var turn = 0

    package init(intervalMilliseconds: Int = 1_000, burst: Int = 1) {
        precondition(intervalMilliseconds > 0 && burst > 0, "a budget that allows nothing")
        self.intervalMilliseconds = intervalMilliseconds
        self.burst = burst
    }

    /// Takes one connection from the budget. Returns false if the pool must ask again later.
    ///
    /// - Parameter asker: the pool's number, unique in the process.
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
