internal import Telemetry

/// The metrics of the gateway. All except the counters of refused keys exist from the start, with 0.
struct GatewayMetrics: Sendable {
    /// The requests that wait for Kafka: bodies of reports (`ReportWriter`), or other requests (`RequestWorker`).
    enum PendingKind { case reports, requests }

    // Reports by their outcome.
    let acceptedReports: Counter
    let refusedReports: Counter
    let unstoredReports: Counter
    /// Requests that got 503 before they were handed over: no catalog, no answer of Kafka, or too many wait.
    let turnedAwayRequests: Counter
    /// Seconds from the complete request to its answer, for bodies of reports and for other requests.
    let batchSeconds: Histogram
    private let oldestReports: Gauge
    private let oldestRequests: Gauge
    private let requestCounters: [RequestKind: [RequestOutcome: Counter]]
    private let limitedCounters: [RateLimit: Counter]
    private let metrics: Metrics

    init(_ metrics: Metrics) {
        acceptedReports = metrics.reportCounter(outcome: "accepted")
        refusedReports = metrics.reportCounter(outcome: "refused")
        unstoredReports = metrics.reportCounter(outcome: "unstored")
        turnedAwayRequests = metrics.turnedAwayCounter(reason: "unavailable")
        limitedCounters = Dictionary(
            uniqueKeysWithValues: RateLimit.allCases.map {
                ($0, metrics.turnedAwayCounter(reason: $0.label))
            })
        batchSeconds = metrics.histogram(
            "flotilla_gateway_batch_seconds",
            help: "Seconds from a complete request to its answer.")
        oldestReports = metrics.oldestGauge(kind: "report")
        oldestRequests = metrics.oldestGauge(kind: "request")
        var requestCounters: [RequestKind: [RequestOutcome: Counter]] = [:]
        for kind in RequestKind.allCases {
            for outcome in RequestOutcome.allCases {
                requestCounters[kind, default: [:]][outcome] = metrics.requestCounter(
                    kind: kind, outcome: outcome)
            }
        }
        self.requestCounters = requestCounters
        self.metrics = metrics
    }

    /// Adds the gauge of the requests that wait for Kafka.
    func observePending(of pendingLimit: PendingRequestLimit) {
        metrics.gauge(
            "flotilla_gateway_in_flight", help: "Requests that wait for Kafka."
        ) { Double(pendingLimit.pendingCount) }
    }

    /// Sets the age of the oldest body of reports, or of the oldest other request, that waits for Kafka.
    func setOldest(of kind: PendingKind, seconds: Double) {
        (kind == .reports ? oldestReports : oldestRequests).set(seconds)
    }

    func countRequest(kind: RequestKind, outcome: RequestOutcome) { requestCounters[kind]?[outcome]?.add() }

    /// Counts a request or a report that is refused because it exceeds a rate limit.
    func countLimited(by limit: RateLimit) { limitedCounters[limit]?.add() }

    /// Counts a refused key. The reason is one of five constants, so the label stays bounded.
    func countRefusedKey(reason: StaticString) {
        metrics.counter(
            "flotilla_gateway_refused_keys_total", help: "Requests refused because of their key.",
            labels: ["reason": "\(reason)"]
        ).add()
    }
}

extension Metrics {
    fileprivate func reportCounter(outcome: String) -> Counter {
        counter(
            "flotilla_gateway_records_total",
            help:
                "Reports: accepted (acknowledged by Kafka), refused (invalid), unstored (503, the client retries).",
            labels: ["outcome": outcome])
    }

    fileprivate func turnedAwayCounter(reason: String) -> Counter {
        counter(
            "flotilla_gateway_requests_turned_away_total",
            help:
                "Requests that were turned away: beyond a rate limit, or while unavailable. Reports for installation_rate and peer_installations.",
            labels: ["reason": reason])
    }

    fileprivate func oldestGauge(kind: String) -> Gauge {
        gauge(
            "flotilla_gateway_oldest_seconds", help: "Age of the oldest request that waits for Kafka.",
            labels: ["kind": kind])
    }

    fileprivate func requestCounter(kind: RequestKind, outcome: RequestOutcome) -> Counter {
        counter(
            "flotilla_gateway_requests_total",
            help:
                "Requests other than reports: accepted (stored), answered (nothing to store, or by the scheduler), underWay (stored, no reply from the scheduler yet), refused (invalid), unstored (503).",
            labels: ["kind": kind.rawValue, "outcome": outcome.rawValue])
    }
}
