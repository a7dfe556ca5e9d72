internal import StageSupport
internal import Telemetry

/// The metrics of the stage. They are created once and updated once for each batch.
struct InsightMetrics {
    private let metrics: Metrics
    let batchSeconds: Histogram
    let inFlight: Gauge
    let oldestSeconds: Gauge
    let startedOver: Counter
    let deletedRows: Counter
    let lanes: Gauge
    let blockedLanes: Gauge

    init(_ metrics: Metrics) {
        self.metrics = metrics
        batchSeconds = metrics.histogram(
            "flotilla_insight_batch_seconds", help: "time from reading a batch of records to writing it")
        inFlight = metrics.gauge(
            "flotilla_insight_in_flight", help: "records that were read and not yet written")
        oldestSeconds = metrics.gauge(
            "flotilla_insight_oldest_seconds",
            help: "age of the oldest record of the current batch: the delay of the figures")
        startedOver = metrics.counter(
            "flotilla_insight_started_over_total",
            help: "number of times that a lane was read again from the offsets of its files")
        deletedRows = metrics.counter(
            "flotilla_insight_forgotten_rows_total", help: "rows removed because of their age")
        lanes = metrics.gauge("flotilla_insight_lanes", help: "lanes whose files are open here")
        blockedLanes = metrics.gauge(
            "flotilla_insight_lanes_blocked", help: "lanes whose files cannot be opened or written now")
    }

    /// The records of a topic with one outcome.
    func records(topic: String, outcome: RecordOutcome) -> Counter {
        metrics.counter(
            "flotilla_insight_records_total", help: "records, by topic and outcome",
            labels: ["topic": topic, "outcome": outcome.rawValue])
    }

    /// The files of one topic that were opened in one state.
    func files(model: String, beginning: String) -> Counter {
        metrics.counter(
            "flotilla_insight_files_total", help: "files opened, by the state in which they were found",
            labels: ["model": model, "beginning": beginning])
    }
}
