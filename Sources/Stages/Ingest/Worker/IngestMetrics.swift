internal import StageSupport
internal import Telemetry

/// The metrics of the stage. They are made once and used per batch.
struct IngestMetrics {
    private let metrics: Metrics
    let batchSeconds: Histogram
    let inFlight: Gauge
    let oldestSeconds: Gauge
    let forwarded: Counter
    let overlay: Gauge
    let restoreSeconds: Histogram
    let sweptRows: Counter
    let startedOver: Counter
    let blocked: Gauge
    let clockAhead: Gauge
    let views: TopicViewMetrics

    init(_ metrics: Metrics) {
        self.metrics = metrics
        batchSeconds = metrics.histogram(
            "flotilla_ingest_batch_seconds", help: "time from the read of a batch of reports to its commit")
        inFlight = metrics.gauge(
            "flotilla_ingest_in_flight", help: "reports read and not yet committed")
        oldestSeconds = metrics.gauge(
            "flotilla_ingest_oldest_seconds", help: "age of the oldest report that is not yet committed")
        forwarded = metrics.counter(
            "flotilla_ingest_forwarded_total",
            help: "reports found in the wrong partition and sent to the right one")
        overlay = metrics.gauge(
            "flotilla_ingest_overlay_rows",
            help: "installations committed and not yet read back into the view")
        restoreSeconds = metrics.histogram(
            "flotilla_ingest_restore_seconds",
            help: "time from the assignment of a partition to its complete view")
        sweptRows = metrics.counter(
            "flotilla_ingest_swept_rows_total",
            help: "registry rows removed because they expired, not because of a report")
        startedOver = metrics.counter(
            "flotilla_ingest_started_over_total",
            help: "batches that were not committed and are read again from the committed offsets")
        blocked = metrics.gauge(
            "flotilla_ingest_partitions_blocked",
            help: "partitions that wait because their view cannot be written or their offset is out of range")
        clockAhead = metrics.gauge(
            "flotilla_ingest_clock_ahead_seconds",
            help:
                "seconds by which this machine's clock is ahead of the cluster's (below 0: behind) if that stops reports, otherwise 0"
        )
        views = TopicViewMetrics(
            metrics, of: "installations", views: "flotilla_ingest_views_total",
            applied: "flotilla_ingest_applied_offset")
        // The series exists from the start, because `increase` does not count the first value of a new series.
        _ = deadLetters(Misfit.empty("").code)
    }

    func records(_ outcome: String) -> Counter {
        metrics.counter(
            "flotilla_ingest_records_total", help: "reports by outcome",
            labels: ["outcome": outcome])
    }

    func deadLetters(_ code: String) -> Counter {
        metrics.counter(
            "flotilla_ingest_dead_letters_total", help: "rejected reports by reason",
            labels: ["code": code])
    }

    func produced(_ topic: String) -> Counter {
        metrics.counter(
            "flotilla_ingest_produced_total", help: "committed records by topic", labels: ["topic": topic])
    }
}
