internal import Telemetry

/// The metrics of the gateway.
struct GatewayMetrics: Sendable {
    let accepted: Counter
    let refused: Counter
    let unstored: Counter
    let seconds: Histogram
    private let oldestReports: Gauge
    private let oldestRequests: Gauge
    private let requests: [RequestKind: [RequestOutcome: Counter]]
    private let limited: [String: Counter]
    let turnedAway: Counter
    private let metrics: Metrics

    init(_ metrics: Metrics) {
        func records(_ outcome: String) -> Counter {
            metrics.counter(
                "flotilla_gateway_records_total",
                help:
                    "Reports: accepted (acknowledged by Kafka), refused (invalid), unstored (503, the client retries).",
                labels: ["outcome": outcome])
        }
        func turnedAway(_ reason: String) -> Counter {
            metrics.counter(
                "flotilla_gateway_requests_turned_away_total",
                help:
                    "Requests turned away unread: over a rate limit, or while unavailable. For installations, reports.",
                labels: ["reason": reason])
        }
        accepted = records("accepted")
        refused = records("refused")
        unstored = records("unstored")
        var limited: [String: Counter] = [:]
        for limit in [
            RateLimit.key(perSecond: 0), .peer(perSecond: 0), .installation(perMinute: 0),
        ] { limited[limit.name] = turnedAway(limit.name) }
        self.limited = limited
        self.turnedAway = turnedAway("unavailable")
        seconds = metrics.histogram(
            "flotilla_gateway_batch_seconds",
            help: "Seconds from a complete request to Kafka's acknowledgement.")
        func oldest(_ kind: String) -> Gauge {
            metrics.gauge(
                "flotilla_gateway_oldest_seconds", help: "Age of the oldest request that waits for Kafka.",
                labels: ["kind": kind])
        }
        oldestReports = oldest("report")
        oldestRequests = oldest("request")
        func counter(_ kind: RequestKind, _ outcome: RequestOutcome) -> Counter {
            metrics.counter(
                "flotilla_gateway_requests_total",
                help:
                    "Requests other than reports: accepted (stored), answered (nothing to store, or by the scheduler), underWay (stored, no reply from the scheduler yet), refused (invalid), unstored (503).",
                labels: ["kind": kind.rawValue, "outcome": outcome.rawValue])
        }
        var all: [RequestKind: [RequestOutcome: Counter]] = [:]
        for kind in RequestKind.allCases {
            for outcome in RequestOutcome.allCases {
                all[kind, default: [:]][outcome] = counter(kind, outcome)
            }
        }
        requests = all
        self.metrics = metrics
    }

    enum Waiting { case reports, requests }

    func oldest(of waiting: Waiting, seconds: Double) {
        (waiting == .reports ? oldestReports : oldestRequests).set(seconds)
    }

    func ended(_ kind: RequestKind, _ outcome: RequestOutcome) { requests[kind]?[outcome]?.add() }

    func watch(_ waitingRoom: WaitingRoom) {
        metrics.gauge(
            "flotilla_gateway_in_flight", help: "Requests that wait for Kafka."
        ) { Double(waitingRoom.requests) }
    }

    func limited(_ limit: RateLimit) { limited[limit.name]?.add() }

    /// Counts a refused key. The reason is one of five constants, so the label stays bounded.
    func refusedKey(_ reason: StaticString) {
        metrics.counter(
            "flotilla_gateway_refused_keys_total", help: "Requests refused because of their key.",
            labels: ["reason": "\(reason)"]
        ).add()
    }
}
