package import Lifecycle

/// Limits how often a process opens connections to one host, and decides which pool is next. APNs treats a
/// peer that opens and closes many connections as an attacker.
///
/// The pools take turns. Two turns of four go to pools without a connection. The third goes to pools that
/// want one more, and the fourth to pools whose connections fail. Within each kind, the pool that has waited
/// longest goes first. So an app whose connections always fail costs the others at most a quarter of the
/// budget.
package struct ConnectBudget: Sendable {
    private enum Priority: Int {
        case first
        case more
        case failing
    }

    private struct PendingRequest {
        let request: ConnectRequest
        let at: Instant

        var priority: Priority {
            request.failures > 0 ? .failing : request.isForFirstConnection ? .first : .more
        }
    }

    /// Order of the claims in each turn.
    private static let priorityOrders: [[Priority]] = [
        [.first, .more, .failing], [.first, .more, .failing], [.more, .first, .failing],
        [.failing, .first, .more],
    ]
    /// Time after which a pool that stopped asking no longer counts. A pool that wants a connection asks at
    /// least once a second. Without this limit, a pool that stopped asking would block the others.
    private static let pendingMilliseconds = 1_500

    /// Time in which one connection is allowed, after the burst is used up.
    private let intervalMilliseconds: Int
    private let burst: Int
    /// Time at which the budget is full again.
    private var fullAt = Instant(nanoseconds: 0)
    private var pendingRequests: [UInt64: PendingRequest] = [:]
    private var nextOrder = 0

    package init(intervalMilliseconds: Int = 1_000, burst: Int = 1) {
        precondition(intervalMilliseconds > 0 && burst > 0, "a budget that allows nothing")
        self.intervalMilliseconds = intervalMilliseconds
        self.burst = burst
    }

    /// Takes one connection from the budget. Returns false if the pool must ask again later.
    ///
    /// - Parameter asker: the pool's number, unique in the process.
    package mutating func take(for asker: UInt64, request ask: ConnectRequest, at now: Instant) -> Bool {
        let mine = PendingRequest(request: ask, at: now)
        pendingRequests[asker] = mine
        let begins = max(fullAt, now)
        guard begins.milliseconds(since: now) <= (burst - 1) * intervalMilliseconds else { return false }
        pendingRequests = pendingRequests.filter {
            now.milliseconds(since: $0.value.at) <= ConnectBudget.pendingMilliseconds
        }
        let isNext = pendingRequests.allSatisfy { other, its in
            other == asker || precedes(asker, pending: mine, other: other, otherPending: its)
        }
        guard isNext else { return false }
        pendingRequests[asker] = nil
        nextOrder = (nextOrder + 1) % ConnectBudget.priorityOrders.count
        fullAt = begins.advanced(byMilliseconds: intervalMilliseconds)
        return true
    }

    private func precedes(
        _ one: UInt64, pending its: PendingRequest, other: UInt64, otherPending others: PendingRequest
    ) -> Bool {
        if its.priority != others.priority {
            return ConnectBudget.priorityOrders[nextOrder].first {
                $0 == its.priority || $0 == others.priority
            } == its.priority
        }
        let never = Instant(nanoseconds: .min)
        let (last, otherLast) = (its.request.lastConnectAt ?? never, others.request.lastConnectAt ?? never)
        return last == otherLast ? one < other : last < otherLast
    }
}
