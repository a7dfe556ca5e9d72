internal import StageSupport
internal import Telemetry

/// The metrics of ingest. They are created once and used for every batch.
struct IngestMetrics {
    let stage: StageMetrics
    let forwardedReports: Counter
    let erasedInstallations: Counter
    let sweptRows: Counter
    let clockAheadSeconds: Gauge

    init(_ metrics: Metrics) {
        stage = StageMetrics(
            metrics: metrics,
            names: .init(stage: "ingest", records: "reports", view: "installations", rows: "installations"))
        forwardedReports = metrics.counter(
            "flotilla_ingest_forwarded_total",
            help: "reports found in the wrong partition and sent to the right one")
        erasedInstallations = metrics.counter(
            "flotilla_ingest_erased_installations_total",
            help: "installations from which an erased user was erased, without those of the sweep")
        sweptRows = metrics.counter(
            "flotilla_ingest_swept_rows_total",
            help: "registry rows removed because they expired, not because of a report")
        clockAheadSeconds = metrics.gauge(
            "flotilla_ingest_clock_ahead_seconds",
            help:
                "seconds by which this machine's clock is ahead of the cluster's (below 0: behind) if an operator must set it, otherwise 0"
        )
    }
}
