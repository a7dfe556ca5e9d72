internal import Telemetry
internal import Topics

/// The metrics of the stage. They are created once.
struct WebhooksMetrics: Sendable {
    let callSeconds: Histogram
    let batchSeconds: Histogram
    let inFlight: Gauge
    let oldestSeconds: Gauge
    let unfinishedEvents: Gauge
    let servedEndpoints: Gauge
    let disabledEndpoints: Gauge
    let waitingEndpoints: Gauge
    let startedOver: Counter
    private let calls: [String: Counter]
    private let deliveredEvents: Counter
    private let givenUpEvents: Counter
    private let records: [WebhookSource: Counter]

    init(_ metrics: Metrics) {
        callSeconds = metrics.histogram(
            "flotilla_webhooks_call_seconds", help: "time from a call to the answer of its endpoint")
        batchSeconds = metrics.histogram(
            "flotilla_webhooks_batch_seconds", help: "time to make the events of a batch of records")
        inFlight = metrics.gauge("flotilla_webhooks_in_flight", help: "calls that wait for an answer")
        oldestSeconds = metrics.gauge(
            "flotilla_webhooks_oldest_seconds",
            help: "age of the oldest event that was read and not delivered, of all endpoints")
        unfinishedEvents = metrics.gauge(
            "flotilla_webhooks_unfinished_events",
            help: "events that were read and are neither delivered nor given up")
        func endpoints(_ state: String) -> Gauge {
            metrics.gauge(
                "flotilla_webhooks_endpoints", help: "endpoints, by state as this process sees them",
                labels: ["state": state])
        }
        servedEndpoints = endpoints("served")
        disabledEndpoints = endpoints("disabled")
        waitingEndpoints = endpoints("waiting")
        startedOver = metrics.counter(
            "flotilla_webhooks_started_over_total",
            help: "assignments of an endpoint's partitions that were lost or located again")
        calls = Dictionary(
            uniqueKeysWithValues: CallOutcome.labels.map { label in
                (
                    label,
                    metrics.counter(
                        "flotilla_webhooks_calls_total", help: "calls of endpoints, by outcome",
                        labels: ["outcome": label])
                )
            })
        func events(_ outcome: String) -> Counter {
            metrics.counter(
                "flotilla_webhooks_events_total", help: "events that are finished, by outcome",
                labels: ["outcome": outcome])
        }
        deliveredEvents = events("delivered")
        givenUpEvents = events("given_up")
        records = Dictionary(
            uniqueKeysWithValues: WebhookSource.allCases.map { source in
                (
                    source,
                    metrics.counter(
                        "flotilla_webhooks_records_total",
                        help:
                            "records read, once for each endpoint that reads the topic, by topic and outcome",
                        labels: ["topic": source.topic.rawValue, "outcome": "read"])
                )
            })
    }

    func countCall(_ outcome: CallOutcome) { calls[outcome.label]?.add() }
    func countDelivered() { deliveredEvents.add() }
    func countGivenUp() { givenUpEvents.add() }
    func countRecords(_ count: Int, of source: WebhookSource) { records[source]?.add(count) }
}
