internal import Lifecycle
package import TLS
package import Telemetry

/// What all event loops of a process share when they speak to APNs: settings, keys and tokens, the
/// budgets of connections. To Apple, a process is one provider.
package final class Provider: Sendable {
    package let settings: APNsSettings
    package let tokens: ProviderTokens
    package let metrics: APNsMetrics
    let log: Log
    let tls: TLSContext
    private let budgets = TracedLock<[String: ConnectBudget]>([:])

    package init(
        _ settings: APNsSettings, tokens: ProviderTokens, metrics: Metrics, log: Log
    ) throws(TLSSettingsError) {
        self.settings = settings
        self.tokens = tokens
        self.metrics = APNsMetrics(metrics)
        self.log = log
        tls = try .client(trust: settings.trust, protocols: ["h2"])
    }

    /// Whether a connection to the host may be opened now; taken out of the budget if so.
    func mayConnect(to host: String, isFirst: Bool, at now: Instant) -> Bool {
        budgets.withLock { budgets in
            var budget =
                budgets[host]
                ?? ConnectBudget(
                    intervalMilliseconds: settings.connectIntervalMilliseconds, burst: settings.connectsBurst)
            defer { budgets[host] = budget }
            return budget.take(isFirst: isFirst, at: now)
        }
    }
}
