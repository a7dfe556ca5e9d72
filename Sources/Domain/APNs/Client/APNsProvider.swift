package import Cryptography
internal import Lifecycle
internal import TLS
package import Telemetry

/// The state that the clients of all event loops in a process share: settings, keys and tokens, and the connect
/// budgets. To Apple, a process is one provider.
package final class APNsProvider: Sendable {
    package let settings: APNsSettings
    package let tokens: ProviderTokens
    package let metrics: APNsMetrics
    let log: Log
    let tls: TLSContext
    private let budgets = TracedLock(Budgets())

    /// The pools that share a connect budget. APNs closes connections for the refusals of unproven and suspect
    /// tokens. New ones must not delay a usual connection, so these pools share a second budget.
    private struct BudgetKey: Hashable {
        let host: String
        let isForUsualConnections: Bool
    }

    private struct Budgets {
        var byKey: [BudgetKey: ConnectBudget] = [:]
        /// The id of the newest pool.
        var lastRequesterID: UInt64 = 0
    }

    package init(
        settings: APNsSettings, tokens: ProviderTokens, metrics: Metrics, log: Log
    ) throws(PEMError) {
        self.settings = settings
        self.tokens = tokens
        self.metrics = APNsMetrics(in: metrics)
        self.log = log
        tls = try .client(trust: settings.trust, protocols: ["h2"])
    }

    /// Takes a permit for one connection from the budget of its pool. Returns false if no connection may be opened now.
    /// The budget remembers the pools that wait, because the most important request of all gets the next permit.
    ///
    /// - Parameters:
    ///   - pool: the key of the pool.
    ///   - requesterID: the pool's id from `nextRequesterID`.
    ///   - request: the importance of the connection to the pool.
    func takeConnectPermit(
        for pool: ConnectionPool.Key, requesterID: UInt64, request: ConnectRequest, at now: Instant
    ) -> Bool {
        let newBudget = ConnectBudget(
            intervalMilliseconds: settings.connectIntervalMilliseconds, burst: settings.connectBurst)
        let budgetKey = BudgetKey(
            host: pool.endpoint.host, isForUsualConnections: pool.purpose == .pushes(.usual))
        return budgets.withLock {
            $0.byKey[budgetKey, default: newBudget].take(for: requesterID, request: request, at: now)
        }
    }

    /// Returns the id of a new pool, by which the connect budgets know it.
    func nextRequesterID() -> UInt64 {
        budgets.withLock { budgets in
            budgets.lastRequesterID += 1
            return budgets.lastRequesterID
        }
    }
}
