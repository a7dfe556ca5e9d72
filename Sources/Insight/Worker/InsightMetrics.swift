internal import Stages
internal import Telemetry

/// The stage's numbers. Asked for once, used per batch.
struct InsightMetrics {
    private let metrics: Metrics
    let batchSeconds: Histogram
    let inFlight: Gauge
    let oldestSeconds: Gauge
    let startedOver: Counter
    let forgotten: Counter
    let lanes: Gauge
    let blocked: Gauge

    init(_ metrics: Metrics) {
        self.metrics = metrics
        batchSeconds = metrics.histogram(
            "flotilla_insight_batch_seconds", help: "from a batch of records being read to its being entered")
        inFlight = metrics.gauge("flotilla_insight_in_flight", help: "records read and not yet entered")
        oldestSeconds = metrics.gauge(
            "flotilla_insight_oldest_seconds",
            help: "age of the oldest record of the batch that is being entered: how far figures are behind")
        startedOver = metrics.counter(
            "flotilla_insight_started_over_total",
            help: "times that lanes were read again from where their files stand")
        forgotten = metrics.counter(
            "flotilla_insight_forgotten_rows_total", help: "rows removed because they are old enough")
        lanes = metrics.gauge("flotilla_insight_lanes", help: "lanes whose files are open here")
        blocked = metrics.gauge(
            "flotilla_insight_lanes_blocked", help: "lanes whose files cannot be opened or written now")
    }

    func records(_ topic: String, _ outcome: String) -> Counter {
        metrics.counter(
            "flotilla_insight_records_total", help: "records, by topic and by what became of them",
            labels: ["topic": topic, "outcome": outcome])
    }

    func files(_ model: String, _ beginning: String) -> Counter {
        metrics.counter(
            "flotilla_insight_files_total", help: "files opened, by how they began",
            labels: ["model": model, "beginning": beginning])
    }
}
