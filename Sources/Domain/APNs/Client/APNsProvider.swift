package import Cryptography
internal import Lifecycle
internal import TLS
package import Telemetry

/// The state that all event loops of a process share to use APNs: settings, keys and tokens, and the connect
/// budgets. To Apple, a process is one provider.
package final class APNsProvider: Sendable {
    package let settings: APNsSettings
    package let tokens: ProviderTokens
    package let metrics: APNsMetrics
    let log: Log
    let tls: TLSContext
    private struct Budgets {
        var byHost: [String: ConnectBudget] = [:]
        var lastRequesterID: UInt64 = 0
    }

    private let budgets = TracedLock(Budgets())

    package init(
        settings: APNsSettings, tokens: ProviderTokens, metrics: Metrics, log: Log
    ) throws(PEMError) {
        self.settings = settings
        self.tokens = tokens
        self.metrics = APNsMetrics(in: metrics)
        self.log = log
        tls = try .client(trust: settings.trust, protocols: ["h2"])
    }

    /// Returns whether a connection to the host may be opened now. If so, takes it from the budget.
    func mayConnect(to host: String, for asker: UInt64, request ask: ConnectRequest, at now: Instant) -> Bool
    {
        let fresh = ConnectBudget(
            intervalMilliseconds: settings.connectIntervalMilliseconds, burst: settings.connectBurst)
        return budgets.withLock { $0.byHost[host, default: fresh].take(for: asker, request: ask, at: now) }
    }

    /// Returns the number of a new pool for the connect budget.
    func nextRequesterID() -> UInt64 {
        budgets.withLock { budgets in
            budgets.lastRequesterID += 1
            return budgets.lastRequesterID
        }
    }
}
