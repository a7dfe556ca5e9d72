package import Lifecycle

/// The limit on the rate at which a process opens connections to one host. The pools of all apps share it, and
/// `APNsProvider` has one for the usual connections and one for the others. APNs treats a peer that opens and closes
/// many connections as an attacker.
///
/// A pool that wants a connection asks again and again until `take` returns true. If several pools ask, they
/// take turns. Two turns of four go to pools without a connection, the third to pools that want one more, and
/// the fourth to pools whose connections fail. Among pools of one kind, the pool that connected longest ago goes
/// first. So an app whose connections always fail costs the others at most a quarter of the budget.
package struct ConnectBudget: Sendable {
    private enum Priority {
        /// The pool has no working connection.
        case first
        /// The pool wants one more connection.
        case more
        /// The pool's last connections failed.
        case failing
    }

    private struct PendingRequest {
        let requesterID: UInt64
        let request: ConnectRequest
        let askedAt: Instant

        var priority: Priority {
            if request.failures > 0 { return .failing }
            return request.isForFirstConnection ? .first : .more
        }
    }

    /// The order of priorities in each of four turns.
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
    /// The newest request of each pool, by its number.
    private var pendingRequests: [UInt64: PendingRequest] = [:]
    /// The current turn, an index of `priorityOrders`.
    private var turn = 0

    package init(intervalMilliseconds: Int = 1_000, burst: Int = 1) {
        precondition(intervalMilliseconds > 0 && burst > 0, "a budget must allow connections")
        self.intervalMilliseconds = intervalMilliseconds
        self.burst = burst
    }

    /// Takes a permit for one connection. Returns false if the pool must ask again later.
    ///
    /// - Parameter requesterID: the pool's number, unique in the process.
    package mutating func take(for requesterID: UInt64, request: ConnectRequest, at now: Instant) -> Bool {
        let pending = PendingRequest(requesterID: requesterID, request: request, askedAt: now)
        pendingRequests[requesterID] = pending
        // Each connection moves `fullAt` by one interval. The budget is used up when `fullAt` is `burst`
        // intervals ahead of now.
        let fullFrom = max(fullAt, now)
        let millisecondsUntilFull = fullFrom.milliseconds(since: now)
        guard millisecondsUntilFull <= (burst - 1) * intervalMilliseconds else { return false }
        pendingRequests = pendingRequests.filter {
            now.milliseconds(since: $0.value.askedAt) <= ConnectBudget.pendingMilliseconds
        }
        let isNext = pendingRequests.values.allSatisfy { other in
            other.requesterID == requesterID || isServed(pending, before: other)
        }
        guard isNext else { return false }
        pendingRequests[requesterID] = nil
        turn = (turn + 1) % ConnectBudget.priorityOrders.count
        fullAt = fullFrom.advanced(byMilliseconds: intervalMilliseconds)
        return true
    }

    /// Whether the first of two requests comes before the other in the current turn.
    private func isServed(_ pending: PendingRequest, before other: PendingRequest) -> Bool {
        if pending.priority != other.priority {
            let firstPriority = ConnectBudget.priorityOrders[turn].first {
                $0 == pending.priority || $0 == other.priority
            }
            return firstPriority == pending.priority
        }
        let never = Instant(nanoseconds: .min)
        let lastConnectAt = pending.request.lastConnectAt ?? never
        let otherLastConnectAt = other.request.lastConnectAt ?? never
        return lastConnectAt == otherLastConnectAt
            ? pending.requesterID < other.requesterID : lastConnectAt < otherLastConnectAt
    }
}
