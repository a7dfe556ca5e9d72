internal import Telemetry

/// The gateway's numbers.
struct GatewayMetrics: Sendable {
    let accepted: Counter
    let refused: Counter
    let unstored: Counter
    let seconds: Histogram
    let oldest: Gauge
    private let limited: [String: Counter]
    let turnedAway: Counter
    private let metrics: Metrics

    init(_ metrics: Metrics) {
        func records(_ outcome: String) -> Counter {
            metrics.counter(
                "flotilla_gateway_records_total",
                help:
                    "Reports: accepted (acknowledged by Kafka), refused (wrong), unstored (503, sent again).",
                labels: ["outcome": outcome])
        }
        func requests(_ reason: String) -> Counter {
            metrics.counter(
                "flotilla_gateway_requests_turned_away_total",
                help:
                    "Requests that were not looked at: over a rate, or nothing could be taken; for installations, reports.",
                labels: ["reason": reason])
        }
        accepted = records("accepted")
        refused = records("refused")
        unstored = records("unstored")
        var limited: [String: Counter] = [:]
        for limit in [
            RateLimit.key(perSecond: 0), .peer(perSecond: 0), .installation(perMinute: 0),
        ] { limited[limit.name] = requests(limit.name) }
        self.limited = limited
        turnedAway = requests("unavailable")
        seconds = metrics.histogram(
            "flotilla_gateway_batch_seconds", help: "From a request with its body to its acknowledgement.")
        oldest = metrics.gauge(
            "flotilla_gateway_oldest_seconds", help: "Age of the oldest request that waits for Kafka.")
        self.metrics = metrics
    }

    func watch(_ admission: Admission) {
        metrics.gauge(
            "flotilla_gateway_in_flight", help: "Requests whose reports are on their way to Kafka."
        ) { Double(admission.requests) }
    }

    func limited(_ limit: RateLimit) { limited[limit.name]?.add() }

    /// The reason is one of five words of ours.
    func refusedKey(_ reason: StaticString) {
        metrics.counter(
            "flotilla_gateway_refused_keys_total", help: "Requests whose key did not let them in.",
            labels: ["reason": "\(reason)"]
        ).add()
    }
}
